// Package storage keeps storage pools of type dir: folders whose files are volumes. It implements server.Storage.
//
// A pool's volumes are what lies in its folder at the moment somebody asks, so nothing has to be refreshed, and what others
// put there or take away is seen. Kept are the definitions of pools, and until the machine's next boot which of them are
// active. A volume that is being made has no name in the folder until it is whole.
package storage
