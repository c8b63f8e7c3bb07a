package process

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

var resumeProcess = windows.NewLazySystemDLL("ntdll.dll").NewProc("NtResumeProcess")

// group is a job object that holds the child and its descendants. They are all killed when its only handle, the
// gateway's, is closed.
type group struct {
	pid int
	job windows.Handle
}

// attributes starts the child suspended, so that it cannot start other processes before it is in the job.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{
		HideWindow:    true,
		CreationFlags: windows.CREATE_SUSPENDED | windows.CREATE_NEW_PROCESS_GROUP,
	}
}

func (g *group) adopt(child *os.Process) error {
	g.pid = child.Pid
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return fmt.Errorf("create job object: %w", err)
	}
	limits := windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION{}
	limits.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	_, err = windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&limits)), uint32(unsafe.Sizeof(limits)))
	if err == nil {
		err = intoJob(job, uint32(child.Pid))
	}
	if err != nil {
		windows.CloseHandle(job)
		return err
	}
	g.job = job
	return nil
}

// intoJob assigns a suspended process to a job and resumes it.
func intoJob(job windows.Handle, pid uint32) error {
	const access = windows.PROCESS_SET_QUOTA | windows.PROCESS_TERMINATE | windows.PROCESS_SUSPEND_RESUME
	process, err := windows.OpenProcess(access, false, pid)
	if err != nil {
		return fmt.Errorf("open process: %w", err)
	}
	defer windows.CloseHandle(process)
	if err := windows.AssignProcessToJobObject(job, process); err != nil {
		return fmt.Errorf("assign process to job: %w", err)
	}
	if status, _, _ := resumeProcess.Call(uintptr(process)); status != 0 {
		return fmt.Errorf("resume process: %w", windows.NTStatus(status))
	}
	return nil
}

// terminate sends CTRL_BREAK, the closest equivalent of SIGTERM. Programs without a console do not receive it.
func (g *group) terminate() {
	_ = windows.GenerateConsoleCtrlEvent(windows.CTRL_BREAK_EVENT, uint32(g.pid))
}

func (g *group) kill() { _ = windows.TerminateJobObject(g.job, 1) }

func (g *group) forget() { windows.CloseHandle(g.job) }

func (g *group) await(cmd *exec.Cmd) { _ = cmd.Wait() }

// executable finds path as it is or with an extension of PATHEXT. For example, npx is npx.cmd.
func executable(path string, env []string) (string, bool) {
	extensions := envValue(env, "PATHEXT")
	if extensions == "" {
		extensions = ".COM;.EXE;.BAT;.CMD"
	}
	for _, known := range strings.Split(extensions, ";") {
		if known != "" && strings.EqualFold(filepath.Ext(path), known) {
			return path, isFile(path)
		}
	}
	for _, extension := range strings.Split(extensions, ";") {
		if extension != "" && isFile(path+extension) {
			return path + extension, true
		}
	}
	return "", false
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.IsDir()
}

// cutEnv skips the first byte, because hidden variables such as =C: start with an equals sign.
func cutEnv(entry string) (key, value string, found bool) {
	if entry == "" {
		return "", "", false
	}
	key, value, found = strings.Cut(entry[1:], "=")
	return entry[:1] + key, value, found
}

func sameEnv(a, b string) bool { return strings.EqualFold(a, b) }

// signalName returns "": Windows has no signals.
func signalName(*os.ProcessState) string { return "" }
