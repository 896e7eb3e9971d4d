package payload

import "strings"

// clientCall makes the calls of cloud and engine libraries visible as the commands that would do the same: in Python,
// boto3.client("ec2").terminate_instances() is aws ec2 terminate-instances.
func (s *scan) clientCall(c *call) {
	name := c.name[strings.LastIndexByte(c.name, '.')+1:]
	verb, _, _ := strings.Cut(name, "_")
	switch {
	case (verb == "delete" || verb == "terminate" || verb == "purge") && s.mentions.holds(s.text, "boto3"):
		if name == verb { // of a resource
			s.act(Exec, c, Text{"aws"}, Text{"s3"}, Text{"rm"}, Text{"--recursive"}, Text{Unknown})
			return
		}
		s.act(Exec, c, Text{"aws"}, Text{"service"}, Text{strings.ReplaceAll(name, "_", "-")}, Text{Unknown})
	case name == "prune" && s.mentions.holds(s.text, "docker"):
		s.act(Exec, c, Text{"docker"}, Text{"container"}, Text{"prune"})
	case (name == "run" || name == "sudo" || name == "local") && s.mentions.holds(s.text, "fabric"):
		if t, ok := c.arg(0).exact(); ok {
			s.act(Shell, c, Text{t})
		}
	}
}
