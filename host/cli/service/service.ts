/** `svc gateway install|uninstall|start|stop|restart`: the gateway as a service of the current user. */
import { mkdir, readFile, rename, rm } from "node:fs/promises";
import { realpathSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { GatewayError } from "@svc/sdk";
import { type CommandContext, commandText } from "@svc/sdk/cli";
import { replaceFile } from "@svc/sdk/files";
import {
  isOurs,
  leftOut,
  renderService,
  type ServiceFacts,
  type ServiceKind,
  serviceName,
  servicePath,
} from "./definition.ts";
import { waitingLine } from "../drain.ts";
import { type Holder, stateHolder, stopHolder } from "../state-lock.ts";
import { difference } from "./difference.ts";
import { findSupervisor, ownMachine, type Supervisor } from "./supervisor.ts";

/** The service of this gateway and its current file. */
interface Scene {
  readonly facts: ServiceFacts;
  readonly kind: ServiceKind;
  readonly name: string;
  readonly path: string;
  /** Text of the current file; `undefined` if there is none. */
  readonly present: string | undefined;
  readonly byHand: string;
}

/** Reads the current file; changes nothing. */
export async function serviceScene(stateDir: string): Promise<Scene> {
  const script = process.argv[1] ?? "";
  const facts = { node: process.execPath, script: stable(script), stateDir, home: homedir(), env: process.env };
  const kind = process.platform === "darwin" ? "launchd" : "systemd";
  const path = servicePath(facts, kind);
  const present = await readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw error;
  });
  const byHand = `SVC_STATE_DIR=${commandText([stateDir])} ${commandText([facts.node, facts.script, "gateway", "run"])}`;
  return { facts, kind, name: serviceName(facts, kind), path, present, byHand };
}

/** Choice: resolves the link that npm creates (`bin/svc`), since npm may remove it. */
function stable(script: string): string {
  try {
    return realpathSync(script);
  } catch {
    return script;
  }
}

export async function install(context: CommandContext): Promise<number> {
  const scene = await serviceScene(context.stateDir);
  const { facts, kind, name, path, present } = scene;
  const text = renderService(facts, kind);
  const changes = present === undefined ? [] : difference(present, text).filter((line) => !line.startsWith(" "));
  const isSame = present === text;
  const missing = leftOut(facts.env);
  const notes = missing.map(
    (one) => `${one} is set here but not written to the service: put its value in the configuration or in a credential`,
  );
  if (context.options["dryRun"] === true) {
    tell(context, { path, name, changed: !isSame, changes, text, notes, dryRun: true }, [
      `${path}${isSame ? " (unchanged)" : ""}`,
      "",
      text.trimEnd(),
      ...diffLines(changes),
      ...notes,
    ]);
    return 0;
  }
  const supervisor = await findSupervisor(ownMachine(scene.byHand));
  const backup = isSame ? undefined : await write(scene, text);
  await supervisor.enable(name, path);
  const done = isSame ? `${name} is up to date and was restarted` : `${name} was written to ${path} and is running`;
  const lines = [
    done,
    ...diffLines(changes),
    ...(backup ? [`The previous file was moved to ${backup}`] : []),
    ...notes,
    ...lingerLines(kind),
  ];
  tell(context, { path, name, changed: !isSame, changes, ...(backup ? { backup } : {}), notes }, [
    ...lines,
    "Next: svc gateway probe",
  ]);
  return 0;
}

/** systemd stops a user's services after the last logout, unless lingering is enabled. */
function lingerLines(kind: ServiceKind): string[] {
  return kind === "systemd" ? ["To keep it running after you log out: loginctl enable-linger"] : [];
}

/** @returns the path of the backup, made if `svc` did not write the current file */
async function write({ path, present, facts }: Scene, text: string): Promise<string | undefined> {
  await mkdir(dirname(path), { recursive: true });
  await mkdir(join(facts.stateDir, "logs"), { recursive: true, mode: 0o700 });
  const backup = present === undefined || isOurs(present) ? undefined : `${path}.before-svc-${Date.now()}`;
  if (backup !== undefined) await rename(path, backup);
  await replaceFile(path, text);
  return backup;
}

export async function uninstall(context: CommandContext): Promise<number> {
  const scene = await serviceScene(context.stateDir);
  const { name, path, present } = scene;
  if (present === undefined) {
    tell(context, { path, name, removed: false }, [`No service file at ${path}; nothing to do.`]);
    return 0;
  }
  if (!isOurs(present))
    throw new GatewayError(
      "INVALID_REQUEST",
      `${path} was not written by svc gateway install\nNext: remove it by hand if you do not need it`,
    );
  if (context.options["dryRun"] === true) {
    tell(context, { path, name, removed: false, dryRun: true }, [`${name} would be stopped and ${path} removed.`]);
    return 0;
  }
  const supervisor = await findSupervisor(ownMachine(scene.byHand));
  await supervisor.disable(name, path);
  await rm(path, { force: true });
  await supervisor.forget();
  tell(context, { path, name, removed: true }, [
    `${name} was stopped and removed; state and configuration stay in ${context.stateDir}.`,
  ]);
  return 0;
}

export async function act(action: "start" | "stop" | "restart", context: CommandContext): Promise<number> {
  const scene = await serviceScene(context.stateDir);
  const { name, path, present, byHand } = scene;
  if (action === "stop" && present === undefined) return stopHere(context);
  const supervisor: Supervisor = await findSupervisor(ownMachine(byHand));
  if (present === undefined)
    throw new GatewayError(
      "NOT_FOUND",
      `no service file at ${path}\nNext: svc gateway install, or svc gateway run in this terminal`,
    );
  const holder = action === "start" ? undefined : await stateHolder(context.stateDir);
  if (holder?.busy?.length) tellWait(context, holder);
  await supervisor[action](name, path);
  const past = { start: "started", stop: "stopped", restart: "restarted" }[action];
  tell(context, { ok: true, name, action }, [`${name} was ${past}.`]);
  return 0;
}

/** Choice: without a service, stops the gateway of this state directory, in any terminal or container, without a prompt. */
async function stopHere(context: CommandContext): Promise<number> {
  const holder = await stopHolder(context.stateDir, (one) => tellWait(context, one));
  if (!holder)
    throw new GatewayError(
      "NOT_FOUND",
      `no gateway runs on the state directory ${context.stateDir}, and no service is installed\nNext: svc gateway run`,
    );
  const { pid, url } = holder;
  const about = [...(pid === undefined ? [] : [`process ${pid}`]), ...(url === undefined ? [] : [url])].join(", ");
  tell(context, { ok: true, action: "stop", ...holder }, [`The gateway (${about}) was stopped.`]);
  return 0;
}

function tellWait({ note }: CommandContext, { pid, busy = [], drainMs = 0 }: Holder): void {
  note(waitingLine(busy, drainMs, `to stop it at once: kill ${pid}`));
}

function diffLines(changes: readonly string[]): string[] {
  return changes.length === 0 ? [] : ["Changes to the current file:", ...changes.map((line) => `  ${line}`)];
}

function tell(context: CommandContext, value: object, lines: readonly string[]): void {
  if (context.json) context.print(value);
  else for (const line of lines) context.print(line);
}
