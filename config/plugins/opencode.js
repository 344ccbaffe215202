// Written by `reflexion hook install opencode`; `reflexion hook uninstall opencode` removes it.
// Calls reflexion at a session's start and whenever it rests. It never fails the session and says nothing to the agent.
import { spawnSync } from "node:child_process"

const PROGRAM = "reflexion"

export const Reflexion = async ({ directory }) => {
  const children = new Set()
  const call = (what, session) => {
    if (!session || children.has(session)) return
    const input = JSON.stringify({ session_id: session, cwd: directory })
    const args = ["hook", what, "--agent", "opencode"]
    spawnSync(PROGRAM, args, { cwd: directory, input, stdio: ["pipe", "ignore", "ignore"], timeout: 30000 })
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
  }
}
