/** The state of an OpenClaw gateway as the source of an import. */
import { homedir } from "node:os";
import { join } from "node:path";
import { parseEnv } from "node:util";
import type { ConvertedSettings, ImportItem, ImportSource } from "@svc/kit/import";
import { isGatewayError, lazy, messageOf } from "@svc/sdk";
import { refusal } from "@svc/sdk/errors";
import { convertConfig } from "./config.ts";
import { findState, formatOf, hasAny, runningOn, versionOf } from "./find.ts";
import type { Databases } from "./database.ts";
import { copiedFiles, leftBehind } from "./left-behind.ts";
import { marchRecords, sessionsFile, STORES } from "./march.ts";
import { letInByDatabase, letInByFiles, peopleItem } from "./people.ts";
import { type StateFiles, stateFiles } from "./state-files.ts";
import { isRecord, numberIn, textIn } from "./values.ts";

export interface OpenClawOptions {
  /** Default: the state directory of this user. */
  readonly from?: string | undefined;
  /** Protective settings that may be left out. */
  readonly without: ReadonlySet<string>;
  /** Take the data only. */
  readonly withoutConfig: boolean;
  /** Copy workspaces; default: use them where they are. */
  readonly copyWorkspace: boolean;
  /** Add the people whom a code let in to `allowFrom`. */
  readonly people: boolean;
  /** Read a newer version. */
  readonly anyway: boolean;
}

/** Files of the report directory, and of the state directory that an export writes. */
export const CONFIG = "openclaw.json";
export const DOT_ENV = ".env";
/** In the report directory. */
const profilesFile = (agentId: string) => `auth-profiles-${agentId}.json`;
export const profilesOwner = (name: string) => /^auth-profiles-(.+)\.json$/u.exec(name)?.[1];
/** The port of a gateway without the setting. */
const PORT = 18_789;

const loadDatabases = lazy(async () => ({
  ...(await import("./database.ts")),
  ...(await import("./latest.ts")),
  ...(await import("./left-in-databases.ts")),
}));

/** @throws GatewayError `IMPORT_UNREADABLE`, `IMPORT_NEWER` */
export async function openClawSource(options: OpenClawOptions): Promise<ImportSource> {
  const directory = await findState(options.from);
  const files = stateFiles(directory);
  const text = options.withoutConfig ? undefined : await readable(files, CONFIG, () => files.text(CONFIG));
  const config = text === undefined ? undefined : await readable(files, CONFIG, () => files.json(CONFIG));
  const version = versionOf(config, options.anyway);
  let workspaces: readonly CopiedWorkspace[] = [];
  const format = await formatOf(files);
  const earlier = [...(await files.names("agents", "directory")).map(sessionsFile), ...STORES.map(({ file }) => file)];
  let opening: Promise<Databases> | undefined;
  // At the first use, which is after the look for a running gateway: what it wrote at its end is in the copies.
  const databases = async () =>
    format === "files"
      ? undefined
      : (opening ??= loadDatabases().then(({ openDatabases }) => openDatabases(files, options.anyway)));
  const people = async () => {
    const opened = await databases();
    const stored = opened ? letInByDatabase(opened.state) : [];
    return [...(await letInByFiles(files)), ...stored];
  };
  /** For the way back. */
  const credentials = async () => {
    const profiles = (await authProfiles(files, await databases())).flatMap(({ id, authProfiles: own }) =>
      own === undefined ? [] : [[profilesFile(id), JSON.stringify(own)] as const],
    );
    const dotEnv = await files.text(DOT_ENV);
    return { ...(dotEnv === undefined ? {} : { [DOT_ENV]: dotEnv }), ...Object.fromEntries(profiles) };
  };
  return {
    name: version === undefined ? "OpenClaw" : `OpenClaw ${version}`,
    directory,
    format,
    halfMoved: format === "database" && (await hasAny(files, earlier)),
    stop: "openclaw gateway stop",
    start: "openclaw gateway start",
    running: () => runningOn(directory, { port: portIn(config) }),
    files: () => copiedFiles(files, workspaces),
    async settings(stateDir, check) {
      if (text === undefined) return NO_SETTINGS;
      const settings = await convertConfig({
        text,
        path: join(directory, CONFIG),
        directory,
        stateDir,
        home: homedir(),
        env: process.env,
        without: options.without,
        agents: await authProfiles(files, await databases()),
        dotEnv: { ...parseEnv((await files.text(DOT_ENV)) ?? "") } as Record<string, string>, // it gives texts only
        people: options.people ? await people() : [],
        check,
      });
      if (options.copyWorkspace) workspaces = workspacesOf(settings.config);
      return withCopies(settings, workspaces, stateDir);
    },
    async *records(settings, tell) {
      for (const item of await leftBehind(files)) tell(item);
      for (const one of await people()) tell(peopleItem(one, settings.config));
      const reading = { files, channels: channelsOf(settings.config), tell };
      const opened = await databases();
      yield* opened ? (await loadDatabases()).latestRecords({ ...reading, databases: opened }) : marchRecords(reading);
      for (const name of files.readable) tell(readableByOthers(directory, name));
    },
    async original() {
      const opened = await databases();
      const moved = opened ? (await loadDatabases()).heartbeatFiles(opened.state).values() : [];
      return {
        ...(text === undefined ? {} : { [CONFIG]: text, ...(await credentials()) }),
        ...Object.fromEntries([...moved].map((file) => [file.name, file.text])),
      };
    },
    async close() {
      const opened = await opening?.catch(() => undefined); // a failed opening has removed its copies
      await opened?.close();
    },
  };
}

/** Clients of the source connect, although they ask for its name. */
const NO_SETTINGS: ConvertedSettings = {
  config: { gateway: { aliases: ["openclaw"] } },
  items: [],
  kept: {},
  weaker: [],
  stricter: [],
  secrets: [],
  warnings: ["the configuration was not read: --without-config"],
};

async function readable<T>({ directory }: StateFiles, name: string, read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    if (!isGatewayError(error)) throw error;
    throw refusal("IMPORT_UNREADABLE", messageOf(error), { path: join(directory, name) });
  }
}

/** Credentials for providers of models by agent: of a file where it is still there, else of the database. */
async function authProfiles(files: StateFiles, databases: Databases | undefined) {
  const stored = databases ? (await loadDatabases()).authProfilesIn(databases) : [];
  const ids = await files.names("agents", "directory");
  return Promise.all(
    ids.map(async (id) => ({
      id,
      authProfiles:
        (await files.json(`agents/${id}/agent/auth-profiles.json`)) ??
        stored.find((one) => one.id === id)?.authProfiles,
    })),
  );
}

function portIn(config: unknown): number {
  const gateway = isRecord(config) ? config["gateway"] : undefined;
  return (isRecord(gateway) ? numberIn(gateway["port"]) : undefined) ?? PORT;
}

/** Lower-case ids of the channels with a section. */
function channelsOf({ channels }: Readonly<Record<string, unknown>>): ReadonlySet<string> {
  return new Set(["webchat", ...(isRecord(channels) ? Object.keys(channels).map((name) => name.toLowerCase()) : [])]);
}

/** A workspace that is copied. */
export interface CopiedWorkspace {
  /** `undefined`: the default of all agents. */
  readonly agentId: string | undefined;
  readonly from: string;
  /** Relative to the state directory. */
  readonly to: string;
}

/** @param config converted: agents without a workspace of their own have that of the defaults */
function workspacesOf(config: Readonly<Record<string, unknown>>): CopiedWorkspace[] {
  const { list, defaults } = agentsIn(config);
  const common = textIn(defaults["workspace"]);
  const own = list.flatMap((agent) => {
    const [agentId, from] = [textIn(agent["id"]), textIn(agent["workspace"])];
    return agentId === undefined || from === undefined ? [] : [{ agentId, from, to: `workspace-${agentId}` }];
  });
  return [...(common === undefined ? [] : [{ agentId: undefined, from: common, to: "workspace" }]), ...own];
}

function agentsIn(config: Readonly<Record<string, unknown>>) {
  const agents = isRecord(config["agents"]) ? config["agents"] : {};
  return {
    agents,
    list: Array.isArray(agents["list"]) ? agents["list"].filter(isRecord) : [],
    defaults: isRecord(agents["defaults"]) ? agents["defaults"] : {},
  };
}

/** The settings with the places of the copies. */
function withCopies(
  settings: ConvertedSettings,
  workspaces: readonly CopiedWorkspace[],
  stateDir: string,
): ConvertedSettings {
  if (workspaces.length === 0) return settings;
  const places = new Map(workspaces.map(({ agentId, to }) => [agentId, join(stateDir, to)]));
  const { agents, list, defaults } = agentsIn(settings.config);
  const moved = {
    ...agents,
    defaults: placed(defaults, places.get(undefined)),
    ...(list.length === 0 ? {} : { list: list.map((agent) => placed(agent, places.get(textIn(agent["id"])))) }),
  };
  return { ...settings, config: { ...settings.config, agents: moved } };
}

function placed(values: Readonly<Record<string, unknown>>, workspace: string | undefined) {
  return workspace === undefined ? values : { ...values, workspace };
}

function readableByOthers(directory: string, name: string): ImportItem {
  const path = join(directory, name);
  return {
    kind: "file",
    id: name,
    action: "take",
    added: 0,
    reason: "other users of this machine can read it",
    next: `chmod 600 ${path}`,
  };
}
