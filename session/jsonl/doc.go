// Package jsonl keeps session logs as append-only files, one a session. It
// implements session.Store, session.Catalog and session.Log.
//
// # The file
//
// The log of session ID is DIR/ID.jsonl, mode 0600 in a directory of mode
// 0700. It is UTF-8 text of lines that each end in one LF (0x0A); an LF never
// stands inside a line, and a line has no length limit but maxLine (1 GiB).
//
//	{"type":"session","version":1,"id":"…","createdAt":"…","cwd":"/w"}      header, once
//	{"seq":1,"ts":"2026-01-02T03:04:05.006Z","type":"turn/start","data":{…}}
//	{"seq":2,"ts":"…","type":"user/message","data":{…}}
//
// The header is no event. Events count from 1 without a gap. The members of an
// event line stand in the order shown and without blanks: List relies on that
// for speed, reading does not. Package session defines the payloads, and
// session/schema.json describes each line.
//
// Nothing but an append ever changes a file, with one exception: Open cuts a
// torn tail (below). There is no index, no rename and no rewrite.
//
// # What is promised after which call
//
//	Create   The file exists with its whole header and survives a power cut: the
//	         file is synced, then its directory.
//	Append   The events have their seq and time. They are in this process's
//	         memory, or in the system's (beyond 64 KiB), and may be lost.
//	Flush    They have been written: they survive the death of this process
//	         (kill -9, panic), not that of the machine.
//	Sync     They survive a power cut (fsync; F_FULLFSYNC on macOS).
//	Close    Sync, then the lock and the file are given up.
//	Open     The log is the caller's alone; every event that a Sync acknowledged
//	         is in the returned state; the events that closed a cut turn are
//	         themselves synced.
//	Delete   The file is gone, and so are its side files; gone for good (the
//	         directory is synced).
//
// The first error of Append, Flush or Sync sticks: every later call returns it
// and writes nothing. A failed fsync is not tried again, since the system may
// have dropped the pages and would then report success.
//
// # What a crash leaves
//
// Appends only extend the file, so a crash leaves a prefix of what was written
// and at most one broken line at its end: the torn tail. A tail is torn when
// the file's last line
//
//   - has no LF, whatever it holds (a line without its LF was never
//     acknowledged, even if it would parse); or
//   - has its LF and is not JSON (a page of it did not reach the disk).
//
// Open copies the torn bytes to ID.torn-N (mode 0600, N the first free number),
// syncs that, and only then cuts the log and syncs it. It appends a notice event
// that says so. Nothing that was acknowledged is ever cut, and nothing at all is
// thrown away.
//
// A turn that was open when its process died is closed by Open: the events of
// session.State.Repair are appended and synced, so that the next turn, and every
// provider, finds each tool call answered. Opening again changes nothing.
//
// # Other hands
//
// Each Flush with something to write, and Close, looks first whether the name still
// leads to the open file and whether that is as long as what was written. Where the file was deleted, moved
// or replaced (ErrGone), or cut or written to (ErrCorrupt), the log is stopped and
// nothing more is acknowledged. What was acknowledged before is where the file is
// now, if it is anywhere.
//
// # What damage leads to
//
//	no file, or an id that cannot be a file name    ErrNotFound
//	another holder of the lock                      ErrLocked, at once
//	empty file, cut or unreadable header            ErrCorrupt
//	version above session.Version, or none          ErrVersion
//	a line that is not JSON, with lines after it    ErrCorrupt
//	a JSON line that does not decode, anywhere      ErrCorrupt
//	a seq that is not the next one                  ErrCorrupt; a repeated one is
//	                                                named as two writers' work
//	an event that contradicts the state             ErrCorrupt
//	a torn tail                                     cut, kept aside, noted
//
// Errors name the file, the line (1-based, the header is line 1) and the byte
// offset of that line. In every case but the last the file is left exactly as it
// was. Read and ReadFile take no lock and never write; they stop before a torn
// tail (which may be a line that another process is just writing) and say how
// long it is. List reports a damaged log in Info.Err and goes on; it looks at
// the header and the end only, so damage in the middle shows on Open, Read or
// `acp-agent sessions verify`.
//
// # The lock
//
// An exclusive advisory lock (flock; LockFileEx on Windows) on the log file
// itself, taken before a byte is read and held until Close. It is never waited
// for. The system drops it when the process dies in whatever way, so there is no
// stale lock and no pid file. A second open in the same process is refused too:
// the lock belongs to the open file, not to the process. After locking, Open
// checks that the name still leads to the file it locked, so that it cannot go
// on with one that was deleted meanwhile.
//
// # Assumptions, and who else makes them
//
//   - fsync on a file makes its bytes and its length durable; fsync on a
//     directory makes its names durable (ext4, XFS, APFS; SQLite and etcd's wal
//     rely on the same). On Windows directories are not synced: NTFS journals
//     names.
//   - A crash does not change bytes that were synced before (SQLite calls this
//     powersafe overwrite; we never overwrite, so it matters only for the sector
//     in which the next append starts).
//   - Several lines that were written and not synced may reach the disk out of
//     order in a power cut. If a later one arrived without an earlier one, Open
//     says ErrCorrupt and leaves the file to a person: none of these lines was
//     acknowledged, but that cannot be told from other damage.
//   - flock works between processes of one machine. On NFS Linux maps it to a
//     byte-range lock on the server; other network file systems may not lock at
//     all, and a state directory does not belong there.
//   - No other program writes to the files. There is no checksum per line: bit rot
//     inside a string is not noticed, except where the digest of a later
//     request/sent no longer matches (session.Verify).
package jsonl
