package payload

// Names of calls as foldedName gives them, from the manuals of the languages that have no reader.

// startNames start a program.
var startNames = words(`system syssystem shellcommand shellcommandtostring asyncshellcommand startprocessshellcommand runshellcommand
	execshellcmd execcmd execcmdex execprocess startprocess callprocess callprocessshellcommand callcommand spawncommand spawncommandline
	spawncommandlinesync spawncommandlineasync runprogram rawsystem readprocess readcreateprocess spawnprocess runprocess openprocessin
	unix doshellscript execl execlp execle execv execvp execve execvpe popen popen2 popen3 posixspawn processcreate tryprocess
	processbuilder shellexecute winexec createprocess osexecute backtick qx unixsystem externalprogram`)

// maybeNames do, or something else.
var maybeNames = words(`shell sh exec execute run runsync runcommand process proc call command cmd spawn start dos runinteractivecommand
	runinteractiveprocess spawnexecutable extern eval executecommand shellcmd executeshell capture output processopen argv pipe`)

// treeNames delete a directory with all below it.
var treeNames = words(`rmtree rmrf removetree removedirectoryrecursive removepathforcibly removedir removedirall rmdirall
	deletedirectory deletedirectories deletedir deletetree deltree deleterecursively deldirr dirdelete
	deletedirectoryandcontents deletedirectorytree removedirectorytree removedirectory recursivedelete rmdirrecursive
	deleterecursive forcedelete deletefilesrecursively rmdir`)

// fileTrees do so when they belong to what speaks of files; collections have calls of these names as well.
var fileTrees = words(`removeall removeitem`)

// fileNames delete a file, when they belong to what speaks of files.
var fileNames = words(`delete deletefile deleteifexists remove removefile unlink rm fileremove deletefiles`)

// loneFile are those that say so by themselves.
var loneFile = words(`deletefile removefile unlink deletefiles fileremove`)

// fileModules are modules, classes and variables that speak of files.
var fileModules = words(`file files fs os sys unix posix path paths directory dir io filesystem filemanager fileutils`)

// systemModules are modules whose calls of the lesser names start programs.
var systemModules = words(`os system process runtime proc kernel shell`)
