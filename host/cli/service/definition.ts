/** Renders the service file of a gateway for systemd and launchd. Pure. */
import { createHash } from "node:crypto";
import { join } from "node:path";
import { invalidRequest } from "@svc/sdk";
import { stopWithinMs } from "../drain.ts";

/** The command and paths of the service. */
export interface ServiceFacts {
  /** Absolute path of Node. */
  readonly node: string;
  /** Absolute path of the command `svc`. */
  readonly script: string;
  readonly stateDir: string;
  readonly home: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

export type ServiceKind = "systemd" | "launchd";

/** Variables copied from the installing environment. Choice: a fixed list, none of which can hold a secret. */
const KEPT = ["SVC_STATE_DIR", "SVC_CONFIG_PATH", "SVC_HOME", "SVC_GATEWAY_PORT", "SVC_WATCHDOG", "PATH"];

/** Names of secret variables, which are never written: other users may be able to read the file. */
const SECRET = /^SVC_\w*(?:TOKEN|PASSWORD|SECRET|KEY|DATABASE_URL)\w*$/;

/** Seconds a stop may take: longer than the gateway's drain. */
const STOP_SECONDS = stopWithinMs() / 1_000;
const RESTART_SECONDS = 5;

/** Exit code by which the gateway requests a restart in a new process. */
const RENEW_EXIT = 75;

/** Service name, different per state directory. */
export function serviceName({ stateDir, home }: Pick<ServiceFacts, "stateDir" | "home">, kind: ServiceKind): string {
  const usual = stateDir === join(home, ".svc");
  const tail = usual ? "" : `-${createHash("sha256").update(stateDir).digest("hex").slice(0, 8)}`;
  return kind === "systemd" ? `svc-gateway${tail}.service` : `svc.gateway${tail}`;
}

export function servicePath(
  { home, ...facts }: Pick<ServiceFacts, "stateDir" | "home" | "env">,
  kind: ServiceKind,
): string {
  const name = serviceName({ ...facts, home }, kind);
  if (kind === "launchd") return join(home, "Library/LaunchAgents", `${name}.plist`);
  const given = facts.env["XDG_CONFIG_HOME"]?.trim();
  return join(given?.startsWith("/") ? given : join(home, ".config"), "systemd/user", name);
}

/** Names of the secret variables now set; the service does not get them. */
export function leftOut(env: ServiceFacts["env"]): string[] {
  return Object.keys(env)
    .filter((name) => SECRET.test(name) && env[name]?.trim())
    .sort();
}

function environment({ env, stateDir }: ServiceFacts, kind: ServiceKind): [name: string, value: string][] {
  const kept = KEPT.flatMap((name): [string, string][] => {
    const value = name === "SVC_STATE_DIR" ? stateDir : env[name]?.trim();
    return value ? [[name, value]] : [];
  });
  return [...kept, ["SVC_SUPERVISOR", kind]];
}

/** @throws GatewayError `INVALID_REQUEST` when a path contains a control character, which no service file can express */
export function renderService(facts: ServiceFacts, kind: ServiceKind): string {
  const texts = [facts.node, facts.script, ...environment(facts, kind).map(([, value]) => value)];
  const odd = texts.find((text) => /\p{Cc}/u.test(text));
  if (odd !== undefined)
    invalidRequest(`${JSON.stringify(odd)} contains a control character, which a service file cannot express`);
  return kind === "systemd" ? unit(facts) : plist(facts);
}

/** Quotes a value for a unit: `%` begins a specifier, and in arguments `$` begins a variable. */
function quoted(text: string, { isArgument }: { readonly isArgument: boolean }): string {
  const plain = text.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("%", "%%");
  return `"${isArgument ? plain.replaceAll("$", () => "$$") : plain}"`;
}

/** Choice: `--last-good`, since nobody watches a service: the last working configuration is better than no start. */
function commandOf({ node, script }: ServiceFacts): string[] {
  return [node, script, "gateway", "run", "--last-good"];
}

function unit(facts: ServiceFacts): string {
  const [program, ...args] = commandOf(facts);
  const command = [
    quoted(program ?? "", { isArgument: false }),
    ...args.map((text) => quoted(text, { isArgument: true })),
  ];
  const variables = environment(facts, "systemd").map(
    ([name, value]) => `Environment=${quoted(`${name}=${value}`, { isArgument: false })}`,
  );
  return `# Written by: svc gateway install
[Unit]
Description=svc gateway
StartLimitIntervalSec=0

[Service]
Type=exec
ExecStart=${command.join(" ")}
${variables.join("\n")}
Restart=always
RestartSec=${RESTART_SECONDS}
RestartForceExitStatus=${RENEW_EXIT}
SuccessExitStatus=${RENEW_EXIT}
KillMode=mixed
KillSignal=SIGTERM
TimeoutStopSec=${STOP_SECONDS}
UMask=0077

[Install]
WantedBy=default.target
`;
}

function xml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

function plist(facts: ServiceFacts): string {
  const { stateDir } = facts;
  const string = (text: string) => `<string>${xml(text)}</string>`;
  const args = commandOf(facts).map((text) => `    ${string(text)}`);
  const variables = environment(facts, "launchd").map(([name, value]) => `    <key>${xml(name)}</key>${string(value)}`);
  return `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<!-- Written by: svc gateway install -->
<plist version="1.0">
<dict>
  <key>Label</key>${string(serviceName(facts, "launchd"))}
  <key>ProgramArguments</key>
  <array>
${args.join("\n")}
  </array>
  <key>EnvironmentVariables</key>
  <dict>
${variables.join("\n")}
  </dict>
  <key>RunAtLoad</key><true/>
  <key>KeepAlive</key><true/>
  <key>ThrottleInterval</key><integer>${RESTART_SECONDS}</integer>
  <key>ExitTimeOut</key><integer>${STOP_SECONDS}</integer>
  <key>ProcessType</key><string>Interactive</string>
  <key>Umask</key><integer>63</integer>
  <key>StandardOutPath</key>${string(join(stateDir, "logs/service.log"))}
  <key>StandardErrorPath</key>${string(join(stateDir, "logs/service.log"))}
</dict>
</plist>
`;
}

/** Whether `svc gateway install` wrote the text. */
export function isOurs(text: string): boolean {
  return text.includes("Written by: svc gateway install");
}
