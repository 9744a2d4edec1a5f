/** Security checks of MCP servers: unencrypted connections, and secrets visible in the process list. Pure. */
import {
  configAt,
  defineSecurityChecks,
  entriesOf,
  isClearAddress,
  setCommand,
  settingText,
  unsetCommand,
} from "@svc/sdk/cli";

/** A flag whose value is a secret. Choice. */
const SECRET_FLAG = /^--?[\w-]*(?:api-?key|token|secret|password|passwd|credential)s?(?:=(.+))?$/i;
const SECRET_SHAPE = /^(?:sk-|ghp_|gho_|github_pat_|xox[abp]-|glpat-|AKIA)[\w-]{8,}$|:\/\/[^/\s:@]+:[^/\s@]+@/;

export default defineSecurityChecks([
  {
    id: "mcp.plain-http",
    severity: "warning",
    why: "Anyone on the network path can read the calls and results of tools, and can forge results.",
    find: ({ config }) =>
      servers(config).flatMap(([name, { url, headers }]) => {
        if (!isClearAddress(url)) return [];
        const withSecret = typeof headers === "object" && headers !== null && Object.keys(headers).length > 0;
        return [
          {
            about: settingText(["mcp", "servers", name, "url"]),
            message: `The server ${name} is called over the network without TLS${withSecret ? ", and its headers are sent with each request" : ""}; use an https address, or disable it.`,
            fix: setCommand(["mcp", "servers", name, "enabled"], false), // the address may hold a secret
            ...(withSecret ? { severity: "critical" as const } : {}),
          },
        ];
      }),
  },
  {
    id: "mcp.secret-argument",
    severity: "warning",
    why: "Every user of this machine can see arguments in the process list.",
    find: ({ config }) =>
      servers(config).flatMap(([name, { args }]) => {
        const texts = Array.isArray(args) ? args.map(String) : [];
        return texts.flatMap((text, at) => {
          const [flag, given] = SECRET_FLAG.exec(texts[at - 1] ?? "") ?? [];
          const isValue = flag !== undefined && given === undefined;
          if (!isValue && !SECRET_SHAPE.test(text) && SECRET_FLAG.exec(text)?.[1] === undefined) return [];
          return [
            {
              about: settingText(["mcp", "servers", name, "args", at]),
              message: `An argument of ${name} looks like a secret; pass it in mcp.servers.${name}.env instead.`,
              fix: unsetCommand(["mcp", "servers", name, "args", at]),
            },
          ];
        });
      }),
  },
]);

function servers(config: unknown) {
  return entriesOf(configAt(config, "mcp.servers")).filter(([, { enabled }]) => enabled !== false);
}
