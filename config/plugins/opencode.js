// Written by `reflexion hook install opencode`; `reflexion hook uninstall opencode` removes it.
// Calls reflexion at a session's start and whenever it rests, and, if asked for, after a command: what it then says of lessons stands
// below the command's output. It never fails the session.
import { spawnSync } from "node:child_process"

const PROGRAM = "reflexion"
const LEARNS = false

export const Reflexion = async ({ directory }) => {
  const children = new Set()
  const call = (what, session, more = {}) => {
    if (!session || children.has(session)) return ""
    const input = JSON.stringify({ session_id: session, cwd: directory, ...more })
    const args = ["hook", what, "--agent", "opencode"]
    const done = spawnSync(PROGRAM, args, { cwd: directory, input, stdio: ["pipe", "pipe", "ignore"], timeout: 30000 })
    return String(done.stdout ?? "")
  }
  return {
    event: async ({ event }) => {
      if (event.type === "session.created") {
        const { id, parentID } = event.properties.info
        // A subagent's session is part of its parent's work.
        if (parentID) children.add(id)
        call("session-start", id)
      } else if (event.type === "session.idle") {
        call("stop", event.properties.sessionID)
      }
    },
    "tool.execute.after": async (input, output) => {
      if (!LEARNS || input.tool !== "bash") return
      const tool_response = { output: output.output, exit: output.metadata?.exit }
      const said = call("after-tool", input.sessionID, { tool_input: input.args, tool_response })
      try {
        output.output += "\n\n" + JSON.parse(said).hookSpecificOutput.additionalContext
      } catch {
        // There is no lesson.
      }
    },
  }
}
