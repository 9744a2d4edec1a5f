/** What a start decides before anything runs: the port, and the words of a refusal. Pure. */
import { StartupRefusal } from "./auth/mode.ts";
import type { ConfigFile, Issue } from "./config/file.ts";
import type { HostConfig } from "./config/host-schema.ts";
import type { Environment } from "./config/paths.ts";

const DEFAULT_PORT = 18_789;

/** Every issue on a line, and the next step. */
export function configRefusal({ path }: ConfigFile, issues: readonly Issue[]): string {
  const lines = issues.map((issue) => `  ${issue.path || "(file)"}: ${issue.message}`);
  return `the configuration ${path} is not valid:\n${lines.join("\n")}\nNext: correct it, then check it with: svc config validate`;
}

/** `SVC_GATEWAY_PORT`, then `gateway.port`, then 18789. @throws StartupRefusal the variable is no port */
export function portFrom(env: Environment, { gateway }: HostConfig): number {
  const text = env["SVC_GATEWAY_PORT"]?.trim();
  if (!text) return gateway.port ?? DEFAULT_PORT;
  const port = Number(text);
  if (Number.isInteger(port) && port >= 0 && port <= 65_535) return port;
  throw new StartupRefusal(`SVC_GATEWAY_PORT is "${text}"; it must be a port, 0 to 65535`);
}
