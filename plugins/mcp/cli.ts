/** `svc mcp doctor`: which sandbox applies to the program of each MCP server; `svc doctor` runs it, too. */
import { findSandbox, sandboxFindings, sandboxRules, type SandboxSubject } from "@svc/kit/exec";
import { matches, Type } from "@svc/sdk";
import { configuredValue, defineCommands, showFindings } from "@svc/sdk/cli";
import { SandboxSettings } from "@svc/sdk/tools";

/** The keys of `mcp.servers` that this command reads. */
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
    summary: "Check the sandbox of each MCP server's program",
    options: [{ flags: "--running", description: "a gateway is running; has no effect here" }],
    examples: ["svc mcp doctor", "svc mcp doctor --json"],
    async run(context) {
      const subjects = serverSubjects(await configuredValue("mcp.servers"));
      const search = subjects.length === 0 ? NOT_SOUGHT : await findSandbox();
      return showFindings(context, sandboxFindings(subjects, search, process.getuid?.() === 0));
    },
  },
]);

const NOT_SOUGHT = { missing: "no server needs one", install: "" };

/** @param servers value of `mcp.servers`; an invalid value counts as absent */
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
