package disk_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"taproom/disk"
	"taproom/disk/inspect"
)

// Look into an image that nobody has reason to trust. It stays as it is.
func ExampleLaunch() {
	ctx := context.Background()
	image := exampleImage() // of an ext4 file system with a file "hello"
	defer os.Remove(image)

	a, err := disk.Launch(ctx, disk.Spec{Images: []disk.Image{{Path: image}}, CacheDir: cacheDir()})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer a.Close(ctx)
	name := a.Disks()[0].Name
	if err := a.Mount(ctx, name, "/", false); err != nil {
		fmt.Println(err)
		return
	}
	list, err := a.List(ctx, "/")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, e := range list {
		if e.Mode.IsRegular() {
			fmt.Println(e.Mode, e.Size, e.Name)
		}
	}
	text, err := a.ReadFile(ctx, "/hello", 1000)
	fmt.Printf("%s (%v)\n", text, err)
	// Output:
	// -rw-r--r-- 12 hello
	// hello, world (<nil>)
}

// Change an image. Its format is said, and Close tells whether everything has reached the host's disk.
func ExampleAppliance_CopyIn() {
	ctx := context.Background()
	image := exampleImage()
	defer os.Remove(image)

	a, err := disk.Launch(ctx, disk.Spec{Images: []disk.Image{{Path: image, Format: "raw", Access: disk.Write}}, CacheDir: cacheDir()})
	if err != nil {
		fmt.Println(err)
		return
	}
	err = a.Mount(ctx, a.Disks()[0].Name, "/", false)
	if err == nil {
		err = a.CopyIn(ctx, "/motd", strings.NewReader("welcome\n"), 0o644)
	}
	fmt.Println(errors.Join(err, a.Close(ctx)))
	// Output: <nil>
}

// An image that leads to a file that nobody named is refused, with the way there.
func ExampleError() {
	image := exampleTrap("/etc/shadow") // says that its backing file is this
	defer os.Remove(image)

	_, err := disk.Launch(context.Background(), disk.Spec{Images: []disk.Image{{Path: image}}, CacheDir: cacheDir()})
	var refused *disk.Error
	if errors.As(err, &refused) {
		fmt.Println(errors.Is(err, disk.ErrOutside), refused.Chain[len(refused.Chain)-1])
	}
	// Output: true /etc/shadow
}

// Say which systems are on many images, as many at a time as there is memory for. One that is broken is an error of its own.
func ExampleEach() {
	ctx := context.Background()
	image := exampleImage()
	defer os.Remove(image)

	many := disk.Many{Spec: disk.Spec{CacheDir: cacheDir()}}
	for r := range disk.Each(ctx, []string{image, "/none"}, many, func(ctx context.Context, a *disk.Appliance) (int, error) {
		found, err := a.Inspect(ctx, inspect.Options{})
		if err != nil {
			return 0, err
		}
		return len(found.Systems), nil
	}) {
		fmt.Println(r.Value, "systems,", "an error:", r.Err != nil)
	}
	// Unordered output:
	// 0 systems, an error: false
	// 0 systems, an error: true
}
