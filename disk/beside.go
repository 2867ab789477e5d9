package disk

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"taproom/internal/appliance/chain"
	"taproom/internal/appliance/replica"
)

// ErrBeside means that an image holds more than its disk, and that SaveInPlace would lose.
var ErrBeside = errors.New("a copy in the image's place would lose what the image holds beside its disk")

// Beside names the parts of an image that copies of its disk lack: internal snapshots, persistent bitmaps, and that its data is in a file of
// its own. A format of "" is looked for.
func Beside(path, format string) ([]string, error) {
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() && info.Mode().Type() != os.ModeDevice {
		return nil, fmt.Errorf("%s is neither a file nor a block device", path)
	}
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0) // without waiting for the medium of a drive
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return chain.Beside(f, format)
}

// CheckSaveAs returns why SaveAs cannot write to a path, as far as that can be known beforehand.
func CheckSaveAs(path string) error {
	f, err := replica.Create(path)
	if err != nil {
		return err
	}
	return f.Close()
}

// CheckSaveInPlace returns why SaveInPlace cannot replace an image, as far as that can be known before the image is opened: it is a block device, it has
// several names, its folder takes no new file, or ErrBeside. A format of "" is looked for.
func CheckSaveInPlace(path, format string) (err error) {
	f, err := replica.Replace(path, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return nothingBeside(f, path, format)
}

// nothingBeside returns ErrBeside for an image that cannot be replaced.
func nothingBeside(f *replica.Fresh, path, format string) error {
	list, err := chain.Beside(f.Old(), format)
	if err != nil {
		return fmt.Errorf("look at %s: %w", path, err)
	}
	if len(list) > 0 {
		return fmt.Errorf("%s has %s: %w; write the copy to a new file, or remove them with qemu-img first", path, strings.Join(list, ", "), ErrBeside)
	}
	return nil
}
