package guest

// Pins are what a run has fixed beside its document: a device that is plugged in changes none of it.
type Pins struct {
	FDSets map[string]int `json:"fdsets,omitempty"` // numbers of sets of descriptors, by what they are for
	Boot   map[string]int `json:"boot,omitempty"`   // the places in the boot order of <os>, by alias
	VCPUs  int            `json:"vcpus,omitempty"`  // the guest was started with
	Added  []int          `json:"added,omitempty"`  // virtual CPUs that were plugged in since and are there, by number
	Made   int            `json:"made,omitempty"`   // how often one was plugged in
}
