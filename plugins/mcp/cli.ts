/** `svc mcp doctor`: which sandbox is in force for the program of each MCP server; `svc doctor` runs it. */
import { findSandbox, sandboxFindings, sandboxRules, type SandboxSubject } from "@svc/kit/exec";
import { matches, Type } from "@svc/sdk";
import { configuredValue, defineCommands, showFindings } from "@svc/sdk/cli";
import { SandboxSettings } from "@svc/sdk/tools";

/** What this verb reads of `mcp.servers`. */
const Servers = Type.Record(
  Type.String(),
  Type.Object({
    command: Type.Optional(Type.String()),
    enabled: Type.Optional(Type.Boolean()),
    sandbox: Type.Optional(SandboxSettings),
  }),
);

export default defineCommands([
  {
    name: "mcp doctor",
    summary: "Which sandbox is in force for the program of each MCP server?",
    options: [{ flags: "--running", description: "a gateway runs; it makes no difference here" }],
    examples: ["svc mcp doctor", "svc mcp doctor --json"],
    async run(context) {
      const subjects = serverSubjects(await configuredValue("mcp.servers"));
      const search = subjects.length === 0 ? NOT_SOUGHT : await findSandbox();
      return showFindings(context, sandboxFindings(subjects, search, process.getuid?.() === 0));
    },
  },
]);

const NOT_SOUGHT = { missing: "nobody needs one", install: "" };

/** @param servers the value of `mcp.servers`; one that is no such value counts as absent */
export function serverSubjects(servers: unknown): SandboxSubject[] {
  if (!matches(Servers, servers)) return [];
  return Object.entries(servers)
    .filter(([, { command, enabled }]) => command !== undefined && enabled !== false)
    .map(([name, { sandbox }]) => ({
      about: `MCP server ${name}`,
      rules: sandboxRules(sandbox),
      key: `mcp.servers.${name}.sandbox`,
    }));
}
