package file

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"acp-agent/loop/model"
	"acp-agent/loop/tool"
	"acp-agent/session"
)

const (
	maxLines  = 2000     // lines of one call
	maxLine   = 2000     // characters of one line
	maxBytes  = 50 << 10 // bytes of one call
	streaming = 10 << 20 // a file of this size is not read into memory
	// maxRead bounds what one call reads: what is larger, such as the image of a
	// disk, is not read to its end to count lines or to know its version.
	maxRead  = 512 << 20
	maxImage = 5 << 20 // bytes of an image that is sent
	maxNames = 500     // entries of a directory
	sniffed  = 8000    // bytes that are looked at to tell text from binary
)

type readArgs struct {
	FilePath string `json:"file_path" jsonschema_description:"The file, absolute or relative to the working directory."`
	Offset   int    `json:"offset,omitempty" jsonschema_description:"The first line to return, counted from 1."`
	Limit    int    `json:"limit,omitempty" jsonschema_description:"How many lines to return. Default and maximum: 2000."`
}

// readResponse is hooks.ReadResponse.
type readResponse struct {
	Path       string `json:"path"`
	Content    string `json:"content"`
	StartLine  int    `json:"startLine"`
	NumLines   int    `json:"numLines"`
	TotalLines int    `json:"totalLines"`
}

//go:embed schemas/read.json
var readSchemaFile string

var readSchema = tool.Schema(readSchemaFile)

type readTool struct{}

func (readTool) Spec() tool.Spec {
	return tool.Spec{
		Name: "read",
		Description: "Reads a file. Returns its lines as \"N: text\" and says where to go on when there are more; " +
			"lines over 2000 characters are cut. The number and the colon are not part of the file. " +
			"Of a directory it returns the names, of an image the image. A file must be read before it is edited or overwritten.",
		Schema: readSchema(), Kind: tool.KindRead, ReadOnly: true, Disk: true,
	}
}

func (readTool) View(env *tool.Env, input json.RawMessage) tool.View {
	a := tool.Peek[readArgs](input)
	v := tool.View{Title: "Read"}
	if a.FilePath == "" {
		return v
	}
	name := a.FilePath
	if p, err := tool.Locate(env, a.FilePath); err == nil {
		name = p.Shown
		v.Locations = []session.Location{{Path: p.Path, Line: max(a.Offset, 0)}}
	}
	v.Title = "Read " + name
	switch {
	case a.Offset > 1 && a.Limit > 0:
		v.Title += fmt.Sprintf(" (lines %d-%d)", a.Offset, a.Offset+a.Limit-1)
	case a.Offset > 1:
		v.Title += fmt.Sprintf(" (from line %d)", a.Offset)
	}
	v.Title = tool.Title(v.Title)
	return v
}

func (readTool) Check(input json.RawMessage) error {
	_, err := decodeRead(input)
	return err
}

func decodeRead(input json.RawMessage) (readArgs, error) {
	a, err := tool.Decode[readArgs](input)
	switch {
	case err != nil:
	case a.FilePath == "":
		err = &tool.ArgumentError{Faults: []string{`"file_path" is empty`}}
	case a.Offset < 0:
		err = &tool.ArgumentError{Faults: []string{`"offset" counts from 1`}}
	case a.Limit < 0:
		err = &tool.ArgumentError{Faults: []string{`"limit" must not be negative`}}
	}
	a.Offset = max(a.Offset, 1)
	if a.Limit == 0 || a.Limit > maxLines {
		a.Limit = maxLines
	}
	return a, err
}

func (readTool) Run(ctx context.Context, env *tool.Env, input json.RawMessage) (tool.Result, error) {
	a, err := decodeRead(input)
	if err != nil {
		return tool.Fail(err.Error()), nil
	}
	p, err := tool.Locate(env, a.FilePath)
	if err != nil {
		return tool.Fail(err.Error()), nil
	}
	f, info, err := p.Open()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		// As in load: a buffer that was never saved.
		data, err := env.Files.ReadFile(ctx, p.Path)
		if err != nil || len(data) == 0 {
			return tool.Fail(missing(p)), nil
		}
		return show(ctx, env, p, a, data)
	case err != nil:
		return tool.Fail(fault(p, err).Error()), nil
	}
	defer f.Close()
	if info.IsDir() {
		return list(p, f), nil
	}
	head, ended, err := start(f, info.Size())
	if err != nil {
		return tool.Fail(fault(p, err).Error()), nil
	}
	whole := io.MultiReader(bytes.NewReader(head), f)
	if kind := model.ImageFormat(head); kind != "" {
		return image(ctx, env, p, kind, info.Size(), whole)
	}
	if what := binary(head); what != "" {
		return notText(ctx, env, p, what, info.Size(), whole)
	}
	if info.Size() > maxRead {
		return page(ctx, p, a, io.LimitReader(whole, maxRead), streaming, info.Size())
	}
	if info.Size() >= streaming {
		h := sha256.New()
		r, err := page(ctx, p, a, io.TeeReader(whole, h), streaming, 0)
		if err == nil && !r.IsError {
			env.Seen.NoteSum(p.Real, [sha256.Size]byte(h.Sum(nil)))
		}
		return r, err
	}
	data := head
	if d, ok := env.Files.(tool.Direct); !ok || !d.Direct() {
		data, err = env.Files.ReadFile(ctx, p.Path)
	} else if !ended {
		data, err = readRest(head, f, info.Size())
	}
	if err != nil {
		return tool.Fail(fault(p, err).Error()), nil
	}
	return show(ctx, env, p, a, data)
}

// start reads what tells text from binary, and says whether that is all. The size
// is that of the file where it has one: those of /proc say 0.
func start(f io.Reader, size int64) (head []byte, ended bool, err error) {
	if size <= 0 || size >= sniffed {
		size = sniffed
	} else {
		size++ // to see the end
	}
	head = make([]byte, size)
	n, err := io.ReadFull(f, head)
	if ended = errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF); ended {
		err = nil
	}
	return head[:n], ended, err
}

// show pages through content that is in memory.
func show(ctx context.Context, env *tool.Env, p tool.Place, a readArgs, data []byte) (tool.Result, error) {
	r, err := page(ctx, p, a, bytes.NewReader(data), len(data), 0)
	if err == nil && !r.IsError {
		env.Seen.Note(p.Real, data)
	}
	return r, err
}

func missing(p tool.Place) string {
	text := p.Shown + " does not exist."
	if near := p.Near(); len(near) > 0 {
		text += " Did you mean " + strings.Join(near, ", ") + "?"
	}
	return text
}

// window is the lines of a page as they are collected.
type window struct {
	out, content strings.Builder
	shown, total int
	crlf, broken bool
	full         bool   // the page's bytes are used up
	line         []byte // scratch
}

func (w *window) add(n int, line []byte, cut int) {
	if !utf8.Valid(line) {
		w.broken = true
		line = bytes.ToValidUTF8(line, []byte("\uFFFD"))
	}
	w.line = append(strconv.AppendInt(w.line[:0], int64(n), 10), ": "...)
	w.line = append(w.line, line...)
	if cut > 0 {
		w.line = fmt.Appendf(w.line, "… [%d more bytes in this line]", cut)
	}
	if w.shown > 0 && w.out.Len()+len(w.line)+1 > maxBytes {
		w.full = true
		return
	}
	w.out.Write(w.line)
	w.out.WriteByte('\n')
	if w.shown > 0 {
		w.content.WriteByte('\n')
	}
	w.content.Write(line)
	w.shown++
}

// page reads r to its end, for the number of its lines, and returns those that
// were asked for. size is how much there is, at least. huge is the size of a file
// of which r is only the start, 0 of any other: there it does not read on when it
// has the lines.
func page(ctx context.Context, p tool.Place, a readArgs, r io.Reader, size int, huge int64) (tool.Result, error) {
	var w window
	in := bufio.NewReaderSize(contextReader{ctx, r}, min(size+1, 64<<10))
	for {
		line, size, err := readLine(in, !w.full && w.total+1 >= a.Offset && w.shown < a.Limit)
		if size > 0 {
			w.total++
			if w.total == 1 && bytes.HasPrefix(line, bom) {
				line, size = line[len(bom):], size-len(bom)
			}
			if bytes.HasSuffix(line, []byte("\r\n")) {
				w.crlf = true
			}
			wanted := w.total >= a.Offset && w.shown < a.Limit && !w.full
			if wanted {
				kept := bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
				kept, cut := firstRunes(kept, maxLine)
				if size > len(line) {
					cut += size - len(line)
				}
				w.add(w.total, kept, cut)
			}
		}
		if errors.Is(err, io.EOF) || huge > 0 && (w.full || w.shown == a.Limit) {
			break
		}
		if err != nil {
			return tool.Fail(fault(p, err).Error()), nil
		}
	}
	if w.total == 0 {
		res := tool.Text("[empty file]")
		res.Meta.Response = response(readResponse{Path: p.Path, StartLine: 1})
		res.Meta.Locations = []session.Location{{Path: p.Path}}
		return res, nil
	}
	if a.Offset > w.total && huge > 0 {
		return tool.Fail(fmt.Sprintf("Line %d is not among the %d lines of the first %d MiB of %s, and more is not read of a file of %d bytes. Use bash for what comes after.", a.Offset, w.total, maxRead>>20, p.Shown, huge)), nil
	}
	if a.Offset > w.total {
		return tool.Fail(fmt.Sprintf("Line %d is past the end: %s has %d lines.", a.Offset, p.Shown, w.total)), nil
	}
	res := tool.Text(w.out.String() + "\n[" + w.footer(a, huge) + "]")
	res.Meta.Locations = []session.Location{{Path: p.Path, Line: a.Offset}}
	res.Meta.Response = response(readResponse{p.Path, w.content.String(), a.Offset, w.shown, w.total})
	return res, nil
}

func (w *window) footer(a readArgs, huge int64) string {
	last := a.Offset + w.shown - 1
	var text string
	switch {
	case huge > 0:
		text = fmt.Sprintf("lines %d-%d of a file of %d bytes; go on with offset %d", a.Offset, last, huge, last+1)
	case last < w.total:
		text = fmt.Sprintf("lines %d-%d of %d; go on with offset %d", a.Offset, last, w.total, last+1)
	case a.Offset > 1:
		text = fmt.Sprintf("lines %d-%d of %d, the end", a.Offset, last, w.total)
	case w.total == 1:
		text = "end of file, 1 line"
	default:
		text = fmt.Sprintf("end of file, %d lines", w.total)
	}
	if w.crlf {
		text += ", CRLF"
	}
	if w.broken {
		text += "; bytes that are not UTF-8 are shown as \uFFFD"
	}
	return text
}

// readLine reads a line of any length and returns its size. It keeps the start
// of the line, of a line that is not wanted only what tells its end. The result
// holds until the next call.
func readLine(in *bufio.Reader, wanted bool) (line []byte, size int, err error) {
	const enough = maxLine*utf8.UTFMax + 8
	line, err = in.ReadSlice('\n')
	size = len(line)
	if !errors.Is(err, bufio.ErrBufferFull) {
		return line, size, err
	}
	if wanted {
		line = bytes.Clone(line[:enough])
	} else {
		line = nil
	}
	var more []byte
	for errors.Is(err, bufio.ErrBufferFull) {
		more, err = in.ReadSlice('\n')
		size += len(more)
	}
	switch { // a \r at the very end of a buffer is taken for text
	case bytes.HasSuffix(more, []byte("\r\n")):
		line = append(line, "\r\n"...)
	case bytes.HasSuffix(more, []byte("\n")):
		line = append(line, '\n')
	}
	return line, size, err
}

// firstRunes returns the first n characters and how many bytes were cut off.
func firstRunes(line []byte, n int) ([]byte, int) {
	if len(line) <= n {
		return line, 0
	}
	at := 0
	for ; n > 0 && at < len(line); n-- {
		_, size := utf8.DecodeRune(line[at:])
		at += size
	}
	return line[:at], len(line) - at
}

// list returns a directory's names.
func list(p tool.Place, f *os.File) tool.Result {
	entries, err := f.ReadDir(-1)
	if err != nil {
		return tool.Fail(fault(p, err).Error())
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
		if e.IsDir() {
			names[i] += "/"
		}
	}
	slices.Sort(names)
	foot := fmt.Sprintf("\n[directory, %d entries]", len(names))
	if len(names) > maxNames {
		foot = fmt.Sprintf("\n[directory, the first %d of %d entries]", maxNames, len(names))
		names = names[:maxNames]
	}
	var b strings.Builder
	for _, n := range names {
		b.WriteString(strings.ToValidUTF8(n, "\uFFFD"))
		b.WriteByte('\n')
	}
	res := tool.Text(strings.TrimPrefix(b.String()+foot, "\n"))
	res.Meta.Locations = []session.Location{{Path: p.Path}}
	res.Meta.Response = response(readResponse{p.Path, strings.TrimSuffix(b.String(), "\n"), 1, len(names), len(entries)})
	return res
}

// image returns an image block, where the model takes images. The file counts as
// read either way: the model was told what it is.
func image(ctx context.Context, env *tool.Env, p tool.Place, kind string, size int64, r io.Reader) (tool.Result, error) {
	if !env.Images || size > maxImage {
		why := "this model takes no images"
		if env.Images {
			why = fmt.Sprintf("images over %d MiB are not sent", maxImage>>20)
		}
		return notText(ctx, env, p, "an image ("+kind+"); "+why, size, r)
	}
	data, err := io.ReadAll(io.LimitReader(contextReader{ctx, r}, maxImage+1))
	if err != nil {
		return tool.Fail(fault(p, err).Error()), nil
	}
	env.Seen.Note(p.Real, data)
	res := tool.Text(fmt.Sprintf("[image, %s, %d bytes]", kind, len(data)))
	res.Content = append(res.Content, session.Block{
		Type: session.BlockImage, MimeType: kind, Data: base64.StdEncoding.EncodeToString(data),
	})
	res.Meta.Locations = []session.Location{{Path: p.Path}}
	res.Meta.Response = response(readResponse{Path: p.Path})
	return res, nil
}

// notText says what a file is that is not shown. One that is not read to its end
// does not count as read.
func notText(ctx context.Context, env *tool.Env, p tool.Place, what string, size int64, r io.Reader) (tool.Result, error) {
	n := size
	if size <= maxRead {
		h := sha256.New()
		var err error
		if n, err = io.Copy(h, contextReader{ctx, io.LimitReader(r, maxRead+1)}); err != nil {
			return tool.Fail(fault(p, err).Error()), nil
		}
		if n <= maxRead { // one of /proc says that it has 0 bytes
			env.Seen.NoteSum(p.Real, [sha256.Size]byte(h.Sum(nil)))
		}
	}
	res := tool.Text(fmt.Sprintf("[%s is %s; %d bytes, not shown]", p.Shown, what, n))
	res.Meta.Locations = []session.Location{{Path: p.Path}}
	res.Meta.Response = response(readResponse{Path: p.Path})
	return res, nil
}

// binary says what a file is that starts like this, empty for text.
func binary(head []byte) string {
	switch {
	case bytes.HasPrefix(head, []byte("\xff\xfe")), bytes.HasPrefix(head, []byte("\xfe\xff")):
		return "UTF-16 text, which iconv in bash can convert"
	case bytes.IndexByte(head, 0) >= 0:
		return "a binary file"
	}
	return ""
}
