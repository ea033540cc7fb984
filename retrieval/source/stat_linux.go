package source

import (
	"fmt"
	"io/fs"
	"syscall"
)

// Nonblock is the flag with which a file is opened that may have become a pipe,
// which would block forever without it.
const Nonblock = syscall.O_NONBLOCK

const errStale = syscall.ESTALE

// version identifies a file's content by size, modification time, inode and
// its change time: reproducible builds give all files one modification time,
// and rsync -t and cp -p copy it, but nothing sets the change time back.
func version(info fs.FileInfo) string {
	var inode uint64
	var changed int64
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		inode, changed = s.Ino, s.Ctim.Nano()
	}
	return fmt.Sprintf("%x-%x-%x-%x", info.Size(), info.ModTime().UnixNano(), inode, changed)
}
