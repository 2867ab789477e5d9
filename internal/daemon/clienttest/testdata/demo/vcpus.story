$ vcpucount demo
maximum      config         4
maximum      live           4
current      config         1
current      live           1
[exit 0]
$ setvcpus demo 4 --live
[exit 0]
$ vcpucount demo
maximum      config         4
maximum      live           4
current      config         1
current      live           4
[exit 0]
$ setvcpus demo 5 --live
error: invalid argument: requested vcpus is greater than max allowable vcpus for the live domain: 5 > 4
[exit 1]
$ setvcpus demo 3 --config
[exit 0]
$ setvcpus demo 3 --config --live --maximum
error: invalid argument: maximum vcpu count of a live domain can't be modified; use --config for domain 'demo'
[exit 1]
$ vcpucount demo
maximum      config         4
maximum      live           4
current      config         3
current      live           4
[exit 0]
