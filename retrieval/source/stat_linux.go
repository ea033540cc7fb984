package source

import (
	"io/fs"
	"strconv"
	"syscall"
)

const nonblock = syscall.O_NONBLOCK

const errStale = syscall.ESTALE

// fileID tells files apart whatever their names.
type fileID struct{ dev, ino uint64 }

func identify(info fs.FileInfo) (fileID, bool) {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return fileID{}, false
	}
	return fileID{uint64(s.Dev), s.Ino}, true //nolint:unconvert // Dev has 32 bits on MIPS
}

// version has the inode and its change time besides size and modification
// time: reproducible builds give all files one modification time, and tools
// like rsync -t and cp -p carry old ones over, but nothing sets the change
// time back.
func version(info fs.FileInfo) string {
	b := make([]byte, 0, 64)
	b = strconv.AppendInt(b, info.Size(), 36)
	b = append(b, '-')
	b = strconv.AppendInt(b, info.ModTime().UnixNano(), 36)
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		b = append(b, '-')
		b = strconv.AppendUint(b, s.Ino, 36)
		b = append(b, '-')
		b = strconv.AppendInt(b, s.Ctim.Nano(), 36)
	}
	return string(b)
}
