/** What a service of this gateway says, for systemd and launchd. Pure; the fixtures of its test show both. */
import { createHash } from "node:crypto";
import { join } from "node:path";
import { invalidRequest } from "@svc/sdk";

/** What is run as a service. */
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

/** Variables of the moment of the install that the service has, too. Choice: by name, and none that can hold a secret. */
const KEPT = ["SVC_STATE_DIR", "SVC_CONFIG_PATH", "SVC_HOME", "SVC_GATEWAY_PORT", "SVC_WATCHDOG", "PATH"];

/** Variables that are not written: a unit can be read by whoever can read the directory. */
const SECRET = /^SVC_\w*(?:TOKEN|PASSWORD|SECRET|KEY)\w*$/;

/** Milliseconds a stop may take: the gateway drains for a few seconds. */
const STOP_SECONDS = 30;
const RESTART_SECONDS = 5;

/** Exit code with which the gateway asks to be started again, with the code that lies there then. */
const RENEW_EXIT = 75;

/** One service for one state directory. */
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

/** Names of variables that are set now and that the service does not get. */
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

/** @throws GatewayError `INVALID_REQUEST` a path holds a line break or the like, which no service can say */
export function renderService(facts: ServiceFacts, kind: ServiceKind): string {
  const texts = [facts.node, facts.script, ...environment(facts, kind).map(([, value]) => value)];
  const odd = texts.find((text) => /\p{Cc}/u.test(text));
  if (odd !== undefined)
    invalidRequest(`${JSON.stringify(odd)} holds a control character and cannot stand in a service`);
  return kind === "systemd" ? unit(facts) : plist(facts);
}

/** Of every line but the program: `%` begins a specifier, `$` a variable. */
function quoted(text: string, { isArgument }: { readonly isArgument: boolean }): string {
  const plain = text.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("%", "%%");
  return `"${isArgument ? plain.replaceAll("$", () => "$$") : plain}"`;
}

function unit(facts: ServiceFacts): string {
  const [program, ...args] = [facts.node, facts.script, "gateway", "run"];
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
  const args = [facts.node, facts.script, "gateway", "run"].map((text) => `    ${string(text)}`);
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

/** Whether this program wrote it. */
export function isOurs(text: string): boolean {
  return text.includes("Written by: svc gateway install");
}
