// Package firewalld lets guests' networks live beside firewalld. It is a firewall.Backend around another one, which has the
// rules; beside them it binds each bridge to a zone of firewalld, over D-Bus, since an accept in rules of ours does not
// outweigh firewalld's reject.
//
// There is no state of its own. The element {"bridges", "virbr0"} is in force when the rules below have it and, while
// firewalld runs, virbr0 is bound to the zone that it should be in: Zone, or the one that an element {"zones",
// "virbr0 . work"} names, which a network's document can ask for. So what firewalld forgets (a reload, a restart) or somebody
// takes away is missing in the next Observe, and the plan that follows puts it back. Which zones were asked for is
// remembered in memory only, so that they are in force too while firewalld does not run; a daemon that is started again
// learns them from firewalld, or from the next Apply. Where bridges are is asked once: who Watches follows firewalld's signals
// from then on.
//
// A call that binds a bridge takes firewalld as long as all the rest of a network's start takes. So Ahead has it under way
// while the network is made.
//
// The zone and the policy Policy are made in firewalld's permanent configuration when the first bridge needs them and they
// are not there; firewalld is told to reload then, once. Between them they let everything through that is forwarded from
// and to the bridges, so that the rules below decide alone; of the host guests reach what libvirt's zone lets them reach.
// An administrator may change both.
//
// So that a reload cuts nobody off, KeepPermanent keeps the bridges in Zone in its permanent configuration, too, once all is
// quiet. What is there because of us is in Config.Record. There is no other way: at run time each bridge is a call of 5 to 7 ms, of 60 with
// firewalld's rules in iptables, and a wildcard for the names of bridges would take those of libvirt into our zone.
//
// The rules never go through firewalld (its direct interface), whichever back end it has: at a reload it forgets direct
// rules and flushes all that iptables shows, while tables of our own in nf_tables are left alone.
//
// When firewalld does not run, runs in another network namespace, or there is no bus, everything goes to the backend below.
// A firewalld that does not answer, or answers something else than it was asked, makes an Apply fail in time that needs it;
// Observe says what is below then, and Trouble why.
package firewalld
