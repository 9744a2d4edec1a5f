/** Writes the state of this gateway as a state directory of OpenClaw 2026.3. Facts: protocol/stores.md. */
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import {
  CONVERTED,
  copyFiles,
  type ExportedState,
  IMPORTS,
  type ImportItem,
  importsOf,
  readReport,
} from "@svc/kit/import";
import { agents } from "@svc/sdk/agents";
import { isInside } from "@svc/sdk/files";
import {
  type CommandPolicyRecord,
  type CronJobRecord,
  type CronRunRecord,
  type DeviceRecord,
  type WakeWordsRecord,
} from "@svc/sdk/import";
import { readConfigText } from "./config-include.ts";
import { configOut, withSecrets } from "./config-out.ts";
import { at, isValues, type Values } from "./config-paths.ts";
import { IMPORTED } from "./config-variables.ts";
import { conversationsOut, isSafe, type Put } from "./conversations-out.ts";
import { policyOut } from "./policy-out.ts";
import { CONFIG, DOT_ENV, profilesOwner } from "./source.ts";
import { sourceRecords } from "./source-records.ts";

/** What an export wrote. Has no secrets. */
export interface ExportReport {
  readonly format: "OpenClaw 2026.3";
  /** Written records by kind; of transcripts, messages. */
  readonly written: Readonly<Record<string, { readonly title: string; readonly count: number }>>;
  /** What stays here. */
  readonly leftOut: readonly ImportItem[];
}

export interface ExportTarget {
  /** The directory in which the files are written. */
  readonly directory: string;
  /** Where the directory will be. */
  readonly place: string;
}

export async function writeOpenClaw(state: ExportedState, { directory, place }: ExportTarget): Promise<ExportReport> {
  const leftOut: ImportItem[] = [];
  const put = async (name: string, content: unknown) => {
    await mkdir(dirname(join(directory, name)), { recursive: true, mode: 0o700 });
    const text = typeof content === "string" ? content : `${JSON.stringify(content, undefined, 2)}\n`;
    await writeFile(join(directory, name), text, { mode: 0o600, flag: "a" });
  };
  const { defaultAgentId, workspaces } = await copyWorkspaces(state, { directory, place });
  const tell = (item: ImportItem) => void leftOut.push(item);
  const counts: Record<string, number> = await conversationsOut(state, {
    directory,
    defaultAgentId,
    workspaces,
    put,
    tell,
  });
  for (const [kind, write] of Object.entries(STORES)) counts[kind] = await write(state, put, tell);
  const written: Record<string, ExportReport["written"][string]> = {};
  for (const { kind, title, count: stored } of state.kinds) {
    const count = counts[kind];
    if (count !== undefined) written[kind] = { title, count };
    else if (stored > 0 && !IN_CONFIG.has(kind))
      tell({ kind, id: String(stored), action: "drop", reason: `${title} have no place there` });
  }
  await copyFiles(
    ["hooks/transforms", "skills"].map((name) => ({ from: join(state.copy, name), to: name })),
    directory,
  );
  for (const setting of await writeConfig(state, { defaultAgentId, workspaces }, put))
    tell({ kind: "setting", id: setting, action: "drop", reason: "has no place there" });
  return { format: "OpenClaw 2026.3", written, leftOut };
}

/** Kinds whose records are in the configuration, in the place of the references to them. */
const IN_CONFIG: ReadonlySet<string> = new Set(["secret"]);

/** The stores of the whole gateway. Each writes its records and returns their number. */
const STORES: Readonly<
  Record<string, (state: ExportedState, put: Put, tell: (item: ImportItem) => void) => Promise<number>>
> = {
  async "cron-job"({ records }, put, tell) {
    const jobs = (await all(records<CronJobRecord>("cron-job"))).map((job) => {
      if (!job.origin || !job.enabled) return job;
      const reason = `"${job.name}" comes from outside, and would have the authority of the operator there; it is disabled`;
      tell({
        kind: "cron-job",
        id: job.id,
        action: "convert",
        reason,
        next: `read what it does, then: ${ENABLE_THERE} ${job.id}`,
      });
      return { ...job, enabled: false };
    });
    if (jobs.length > 0) await put("cron/jobs.json", { version: 1, jobs });
    return jobs.length;
  },
  async "cron-run"({ records }, put, tell) {
    let count = 0;
    for await (const { id, entry } of records<CronRunRecord>("cron-run")) {
      if (!isSafe("cron-run", id, [entry.jobId], tell)) continue;
      await put(`cron/runs/${entry.jobId}.jsonl`, `${JSON.stringify(entry)}\n`);
      count += 1;
    }
    return count;
  },
  async device({ records, copy }, put, tell) {
    const devices = await all(records<DeviceRecord>("device"));
    const sources = await sourceRecords<DeviceRecord>(copy, "device");
    const findFormer: FindFormer = (id, role) =>
      sources.flatMap((one) => (one.id === id ? one.tokens : [])).find((token) => token.role === role)?.value;
    const written = devices.map((one) => [one.id, deviceOut(one, findFormer, tell)] as const);
    if (written.length > 0) await put("devices/paired.json", Object.fromEntries(written));
    return written.length;
  },
  async "command-policy"({ records, copy }, put, tell) {
    const [policy] = await all(records<CommandPolicyRecord>("command-policy"));
    const sources = await sourceRecords<CommandPolicyRecord>(copy, "command-policy");
    const former = sources.map(({ file }) => file);
    if (policy) await put("exec-approvals.json", policyOut(policy.file, former, tell));
    return policy ? 1 : 0;
  },
  async "wake-words"({ records }, put) {
    const [words] = await all(records<WakeWordsRecord>("wake-words"));
    if (words) await put("settings/voicewake.json", { triggers: words.triggers, updatedAtMs: Date.now() });
    return words ? 1 : 0;
  },
};

const ENABLE_THERE = "openclaw cron enable";

/** Finds the token of a device in the sources of imports. */
type FindFormer = (deviceId: string, role: string) => string | undefined;

/** With the tokens that the device sends. One that has not connected since the import still sends that of its former gateway. */
function deviceOut(
  { id, node: _commands, approvedScopes, tokens, createdAt, approvedAt, ...facts }: DeviceRecord,
  findFormer: FindFormer,
  tell: (item: ImportItem) => void,
): Values {
  const sent = tokens.map(({ role, scopes, value, createdAt: createdAtMs, former = false }) => {
    const known = former ? findFormer(id, role) : value;
    if (known === undefined)
      tell({ kind: "device", id, action: "convert", reason: UNKNOWN_TOKEN, next: CONNECT_FIRST });
    return [role, { token: known ?? value, role, scopes, createdAtMs }] as const;
  });
  return {
    deviceId: id,
    ...facts,
    role: facts.roles[0],
    ...(approvedScopes ? { scopes: approvedScopes, approvedScopes } : {}),
    tokens: Object.fromEntries(sent),
    createdAtMs: createdAt,
    approvedAtMs: approvedAt,
  };
}

const UNKNOWN_TOKEN =
  "it still has the token of the gateway that it was imported from, whose state is not there any more";
const CONNECT_FIRST = "connect it to this gateway once and export again, or pair it there";

async function all<R>(records: AsyncIterable<R>): Promise<R[]> {
  const found: R[] = [];
  for await (const record of records) found.push(record);
  return found;
}

/** Copies the workspaces in the state directory. Others are used where they are. @returns the places by agent id */
async function copyWorkspaces({ client, copy, stateDir }: ExportedState, { directory, place }: ExportTarget) {
  const { agents: list, defaultId } = await client.call(agents.list, {});
  const workspaces = new Map<string, string>();
  for (const { id } of list) {
    const { workspace } = await client.call(agents.filesList, { agentId: id });
    const root = [copy, stateDir].find((one) => isInside(one, workspace));
    const name = root === undefined ? "" : relative(root, workspace);
    if (name !== "") await copyFiles([{ from: join(copy, name), to: name }], directory);
    workspaces.set(id, name === "" ? workspace : join(place, name));
  }
  return { defaultAgentId: defaultId, workspaces };
}

/** @returns the settings that are left out */
async function writeConfig(
  { stateDir, copy, config }: ExportedState,
  places: { readonly defaultAgentId: string; readonly workspaces: ReadonlyMap<string, string> },
  put: Put,
): Promise<readonly string[]> {
  const { original, converted, files } = await lastImport(copy);
  const path = at(config, ["secrets", "providers", IMPORTED, "path"]);
  const inCopy = typeof path === "string" && isInside(stateDir, path) ? join(copy, relative(stateDir, path)) : path;
  const secrets = typeof inCopy === "string" ? await readJson(inCopy) : {};
  const [now, imported] = [config, converted].map((one) => withSecrets(one, secrets) as Values);
  const { config: out, leftOut } = configOut({ now: now ?? {}, imported: imported ?? {}, original, ...places });
  await put(CONFIG, out);
  for (const [name, text] of files) await put(name, text);
  return leftOut;
}

/** The configuration that the newest import converted, if this format knows it, and the credentials beside it. */
async function lastImport(state: string) {
  const id = (await importsOf(state)).at(-1);
  const none = { original: {}, converted: {}, files: new Map<string, string>() };
  if (id === undefined) return none;
  const directory = join(state, IMPORTS, id);
  const names = await readdir(directory);
  const files = new Map<string, string>();
  for (const name of names) {
    const agentId = profilesOwner(name);
    const place =
      agentId === undefined ? (name === DOT_ENV ? name : undefined) : `agents/${agentId}/agent/auth-profiles.json`;
    if (place !== undefined) files.set(place, await readFile(join(directory, name), "utf8"));
  }
  const { source } = await readReport(state, id);
  if (source.format !== "files" || !names.includes(CONFIG) || !names.includes(CONVERTED)) return { ...none, files };
  const text = await readFile(join(directory, CONFIG), "utf8");
  const original = await readConfigText(text, join(source.directory, CONFIG), source.directory);
  return { original, converted: await readJson(join(directory, CONVERTED)), files };
}

async function readJson(path: string): Promise<Values> {
  const value: unknown = JSON.parse(await readFile(path, "utf8").catch(() => "{}"));
  return isValues(value) ? value : {};
}
