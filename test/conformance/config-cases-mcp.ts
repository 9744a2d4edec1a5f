/** Keys of the section `mcp`: an entry is either a program or an address, and each is tried disabled, so that nothing is started. */
import type { Given } from "./config-cases.ts";

const PROGRAM = { enabled: false, command: "sample" };
const ADDRESS = { enabled: false, url: "https://one.example/mcp" };
const AT = { source: "env", id: "SAMPLE" };

const servers = (entry: object) => ({ mcp: { servers: { acme: entry } } });
const change = (base: object, more: object): Given => ({ between: [servers(base), servers({ ...base, ...more })] });
const program = (more: object) => change(PROGRAM, more);
const address = (more: object) => change(ADDRESS, more);

/** A reference at a place of an entry: it is added, and one part of it changes. */
function reference(path: string, base: object, put: (ref: object) => object): Record<string, Given> {
  const from = { ...base, ...put(AT) };
  return {
    [`${path}.source`]: change(from, put({ ...AT, source: "file" })),
    [`${path}.id`]: change(from, put({ ...AT, id: "OTHER" })),
    [`${path}.provider`]: change(from, put({ ...AT, provider: "other" })),
  };
}

export const MCP_GIVEN: Readonly<Record<string, Given>> = {
  "mcp.servers.*.command": program({ command: "other" }),
  "mcp.servers.*.args": program({ args: ["sample"] }),
  "mcp.servers.*.cwd": program({ cwd: "/tmp" }),
  "mcp.servers.*.sandbox.mode": program({ sandbox: { mode: "prefer" } }),
  "mcp.servers.*.sandbox.network": program({ sandbox: { network: true } }),
  "mcp.servers.*.sandbox.memoryMb": program({ sandbox: { memoryMb: 100 } }),
  "mcp.servers.*.sandbox.processes": program({ sandbox: { processes: 20 } }),
  "mcp.servers.*.sandbox.readPaths": program({ sandbox: { readPaths: ["/srv/data"] } }),
  "mcp.servers.*.sandbox.writePaths": program({ sandbox: { writePaths: ["/srv/cache"] } }),
  "mcp.servers.*.enabled": change({ ...PROGRAM, command: "/no/such/program" }, { enabled: true }),
  "mcp.servers.*.include": program({ include: ["sample"] }),
  "mcp.servers.*.exclude": program({ exclude: ["sample"] }),
  "mcp.servers.*.scope": program({ scope: "operator.read" }),
  "mcp.servers.*.toolTimeoutSeconds": program({ toolTimeoutSeconds: 7 }),
  "mcp.servers.*.startTimeoutSeconds": program({ startTimeoutSeconds: 7 }),
  "mcp.servers.*.env.*": program({ env: { acme: "text" } }),
  "mcp.servers.*.url": address({ url: "https://two.example/mcp" }),
  "mcp.servers.*.transport": address({ transport: "sse" }),
  "mcp.servers.*.headers.*": address({ headers: { acme: "text" } }),
  ...reference("mcp.servers.*.env.*", PROGRAM, (ref) => ({ env: { acme: ref } })),
  ...reference("mcp.servers.*.headers.*", ADDRESS, (ref) => ({ headers: { acme: ref } })),
  ...reference("mcp.servers.*.url", { enabled: false }, (ref) => ({ url: ref })),
};

export const MCP_SEEN_ELSEWHERE: Readonly<Record<string, string>> = {
  "mcp.servers.*.command": "plugins/mcp/stdio.test.ts",
  "mcp.servers.*.args": "plugins/mcp/scene.ts",
  "mcp.servers.*.cwd": "plugins/mcp/stdio.test.ts",
  "mcp.servers.*.sandbox.": "plugins/mcp/sandbox.test.ts",
  "mcp.servers.*.enabled": "plugins/mcp/stdio.test.ts",
  "mcp.servers.*.include": "plugins/mcp/stdio.test.ts",
  "mcp.servers.*.exclude": "plugins/mcp/stdio.test.ts",
  "mcp.servers.*.scope": "plugins/mcp/stdio.test.ts",
  "mcp.servers.*.toolTimeoutSeconds": "plugins/mcp/stdio.test.ts",
  "mcp.servers.*.startTimeoutSeconds": "plugins/mcp/supervisor.test.ts",
  "mcp.servers.*.env.*": "plugins/mcp/stdio.test.ts",
  "mcp.servers.*.env.*.": "plugins/mcp/stdio.test.ts",
  "mcp.servers.*.url": "plugins/mcp/http.test.ts",
  "mcp.servers.*.url.": "plugins/mcp/decisions.test.ts",
  "mcp.servers.*.transport": "plugins/mcp/http.test.ts",
  "mcp.servers.*.headers.*": "plugins/mcp/http.test.ts",
  "mcp.servers.*.headers.*.": "plugins/mcp/http.test.ts",
};
