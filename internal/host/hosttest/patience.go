package hosttest

import "time"

// Patience bounds a wait for work of the host alone, on one that is busy. Where an emulated machine has a part in it, emutest does.
const Patience = time.Minute
