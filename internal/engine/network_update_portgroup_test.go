package engine

import (
	"testing"

	"taproom/internal/api/virterr"
)

func TestUpdatesOfPortGroupsChangeTheDocument(t *testing.T) {
	t.Parallel()
	const group = sectionPortgroup
	runUpdates(t, map[string]updateCase{
		"behind the others":        {change(updateAddLast, group, `<portgroup name='new'/>`), "  <portgroup name='b' default='yes'/>\n  <portgroup name='new'/>\n", 0},
		"before the others":        {change(updateAddFirst, group, `<portgroup name='new' trustGuestRxFilters='yes'/>`), "  <portgroup name='new' trustGuestRxFilters='yes'/>\n  <portgroup name='a'/>\n", 0},
		"in place":                 {change(updateModify, group, `<portgroup name='a'><bandwidth><inbound average='100'/></bandwidth></portgroup>`), "  <portgroup name='a'>\n    <bandwidth>\n      <inbound average='100'/>\n    </bandwidth>\n  </portgroup>\n  <portgroup name='b'", 0},
		"the default, in place":    {change(updateModify, group, `<portgroup name='b' default='yes' trustGuestRxFilters='no'/>`), "  <portgroup name='b' default='yes' trustGuestRxFilters='no'/>\n", 0},
		"one that goes":            {change(updateDelete, group, `<portgroup name='a'/>`), "netmask='255.255.255.0'/>\n  <portgroup name='b' default='yes'/>\n</network>", 0},
		"one of its name is there": {change(updateAddLast, group, `<portgroup name='a'/>`), `there is an existing portgroup entry in network 'n' that matches "<portgroup name='a'>"`, virterr.OperationInvalid},
		"none to change":           {change(updateModify, group, `<portgroup name='z'/>`), "couldn't find a portgroup entry in network 'n' matching <portgroup name='z'>", virterr.OperationInvalid},
		"none to delete":           {change(updateDelete, group, `<portgroup name='z'/>`), "couldn't find a portgroup entry in network 'n' matching <portgroup name='z'>", virterr.OperationInvalid},
		"another default":          {change(updateAddLast, group, `<portgroup name='c' default='yes'/>`), "a different portgroup entry in network 'n' is already set as the default", virterr.OperationInvalid},
		"another default, changed": {change(updateModify, group, `<portgroup name='a' default='yes'/>`), "a different portgroup entry in network 'n' is already set as the default", virterr.OperationInvalid},
		"without a name":           {change(updateAddLast, group, `<portgroup/>`), "missing required name attribute in portgroup", virterr.XMLError},
		"what is no port group":    {change(updateAddLast, group, `<host/>`), "root element is <host>", virterr.XMLDetail},
		"VLANs of a Linux bridge":  {change(updateAddLast, group, `<portgroup name='c'><vlan><tag id='7'/></vlan></portgroup>`), "portgroup/vlan is not supported", virterr.ConfigUnsupported},
	})
}
