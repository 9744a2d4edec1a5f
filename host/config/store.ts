/**
 * Reads, changes and watches the configuration of a running gateway under one lock: a change is checked, written and
 * applied before the next one begins.
 */
import {
  type Clock,
  type Denial,
  GatewayError,
  invalidRequest,
  isGatewayError,
  type Logger,
  messageOf,
  unavailable,
} from "@svc/sdk";
import type {
  ConfigAuthor,
  ConfigPlace,
  ConfigSnapshot,
  ConfigStore as ConfigService,
  ConfigWritten,
  ReloadKind,
} from "@svc/sdk/config";
import { systemClock } from "../clock.ts";
import { appendAudit, auditPath, auditRecord } from "./audit.ts";
import { changedKeys, reloadKinds, strongest } from "./changes.ts";
import { checkBaseHash, editedText, type DraftContext, patchedText, replacedText } from "./draft.ts";
import { type ConfigFile, interpretConfig, type Issue, readConfigFile } from "./file.ts";
import { isWithoutEffect } from "./foreign.ts";
import { createLock } from "./lock.ts";
import type { Environment, Paths } from "./paths.ts";
import { perOwners } from "./per-owners.ts";
import { own, sameData } from "./plain-data.ts";
import { type Hints, redact } from "./redact.ts";
import { composeHints, composeSchema, configIssues, effectiveConfig, type SectionOwner } from "./sections.ts";
import { describeConfig } from "./snapshot.ts";
import { type Kept, SharedText } from "./shared.ts";
import { isStamp, stamped } from "./stamp.ts";
import { configChanged, type Files, writeConfigFile } from "./write-file.ts";

export { configIssues } from "./sections.ts";

/** A change from the configuration in use to another one. */
export interface ConfigTransition {
  readonly previous: ConfigFile;
  readonly next: ConfigFile;
  /** Dotted paths that differ, compared with defaults filled in. */
  readonly changed: readonly string[];
  /** Reload kind of each changed path. */
  readonly kinds: ReadonlyMap<string, ReloadKind>;
  /** Author of the change; absent if the file was edited by hand. */
  readonly author?: ConfigAuthor;
  /** Whether the author schedules the restart that a changed key needs. Default false. */
  readonly restartsItself?: boolean;
}

export interface ConfigStoreOptions {
  readonly paths: Pick<Paths, "configPath" | "stateDir">;
  readonly env: Environment;
  readonly version: string;
  /** Current section owners. */
  owners(): readonly SectionOwner[];
  /** Loads the owners' schemas needed to check this file. Default: all are loaded. */
  prepare?(file: ConfigFile): Promise<void>;
  /** The configuration the gateway was started with. Default: empty. */
  readonly initial?: ConfigFile;
  /** Whether the embedding program passed `initial`: there is no file, and writes are refused. Default false. */
  readonly given?: boolean;
  readonly clock?: Clock;
  readonly log?: Pick<Logger, "warn" | "error">;
  /** Why a gateway would not start with this file although every key is valid. Default: it starts. */
  startRefusal?(file: ConfigFile): Issue | undefined;
  /** Called before a change is written or applied; may deny it. A nested write is refused. Default: none. */
  validate?(change: ConfigTransition): Promise<Denial | undefined>;
  /** Applies the change to the gateway. A nested write is refused: it would deadlock. Default: no gateway runs. */
  apply?(change: ConfigTransition): Promise<void>;
  /** Keys that wait for a restart, and the time until it. Default: no gateway runs. */
  restart?(): { readonly paths: readonly string[]; readonly delayMs?: number } | undefined;
  /** Called after a change took effect. */
  applied?(): Promise<void>;
  /** Called after a change of the text that several gateways share. */
  shared?(): void;
  /** Default: the real file system. */
  readonly files?: Files;
}

/** Why the gateway does not use the file. */
export interface ConfigProblem {
  readonly message: string;
  readonly issues: readonly Issue[];
  /** Whether the machine temporarily could not read the file: retry even if the file does not change. */
  readonly passes?: boolean;
}

export interface ConfigStore extends ConfigService {
  /** The configuration in use. */
  readonly running: ConfigFile;
  readonly problem: ConfigProblem | undefined;
  readonly sharedText: SharedText;
  /** Reads the file. Applies a valid change; keeps the running configuration and sets `problem` if the file is invalid. Never throws. */
  refresh(): Promise<void>;
  /**
   * Called once by a start. @returns whether the file was replaced with the text that several gateways share: the start must begin again
   * @throws GatewayError `UNAVAILABLE` when that text cannot be read
   */
  settle(): Promise<boolean>;
}

/** What a change begins with. */
interface Source {
  readonly file: ConfigFile;
  /** Set: the file is a copy of it. */
  readonly kept?: Kept | undefined;
}

export function createConfigStore(options: ConfigStoreOptions): ConfigStore {
  const { paths, env, version, owners, clock = systemClock, log = SILENT, files } = options;
  const lock = createLock(refuseWithinChange);
  let running = options.initial ?? unread(paths.configPath);
  let problem: ConfigProblem | undefined;
  const secret = new Map<string, object>();
  const sharedText = new SharedText(paths.stateDir, log);
  /** The last edited copy that another gateway's change has replaced. */
  let overtaken: { readonly hash: string; readonly reason: string } | undefined;
  /** The last rejected file; re-checked only after the text or the environment changes. */
  let refused: { readonly file: ConfigFile; readonly reason: string } | undefined;

  const composed = perOwners((now) => {
    const whole = composeSchema(now);
    const uiHints = composeHints(whole);
    for (const [path, { sensitive }] of Object.entries(uiHints)) if (sensitive) secret.set(path, { sensitive });
    return { schema: whole, uiHints, hints: { ...Object.fromEntries(secret), ...uiHints } };
  });
  const schema = () => {
    const { schema: whole, uiHints } = composed(owners());
    return { schema: whole, uiHints, version };
  };
  /** Includes keys that plugins no longer loaded marked as secret: their sections are still in the file. */
  const hints = (): Hints => composed(owners()).hints;
  /** The last snapshot, cached while file and schemas are the same: validation and redaction take 20 ms. */
  let described: { file: ConfigFile; hints: Hints; refusal: string | undefined; snapshot: ConfigSnapshot } | undefined;
  async function describe(file: ConfigFile): Promise<ConfigSnapshot> {
    const [now, issue] = [hints(), options.startRefusal?.(file)];
    const refusal = issue && `${issue.path}: ${issue.message}`;
    const known = described;
    if (known && known.hints === now && known.refusal === refusal && sameFile(known.file, file)) return known.snapshot;
    const snapshot = await describeConfig(file, owners(), now, issue);
    described = { file, hints: now, refusal, snapshot };
    return snapshot;
  }
  const read = () => readConfigFile(paths.configPath, env);
  const interpret = ({ text }: Pick<Kept, "text">) => interpretConfig(paths.configPath, text, env);
  async function source(): Promise<Source> {
    const kept = await sharedText.kept();
    return { file: kept ? await interpret(kept) : await read(), kept };
  }
  /** While the database cannot be read. */
  const copyOnly = async (): Promise<Source> => ({ file: await read(), kept: undefined });
  async function issuesOf(file: ConfigFile, isShared = false): Promise<readonly Issue[]> {
    const issues = isShared ? sharedIssues(file) : [];
    if (issues.length > 0) return issues;
    await options.prepare?.(file);
    return configIssues(file, owners());
  }

  function sharedIssues(file: ConfigFile): readonly Issue[] {
    if (file.files.length > 1) return [INCLUDES];
    const at = (one: ConfigFile, path: string) => path.split(".").reduce<unknown>(own, one.resolved);
    const lost = sharedText.keeper?.foundBy.find((path) => !sameData(at(file, path), at(running, path))); // issues have no values
    return lost === undefined ? [] : [{ path: lost, message: LOST }];
  }

  function transition(next: ConfigFile, author?: ConfigAuthor): ConfigTransition {
    const now = owners();
    const differing = changedKeys(effectiveConfig(running, now), effectiveConfig(next, now));
    const keys = differing.filter((key) => !isWithoutEffect(key) && !isStamp(key));
    const kinds = reloadKinds(keys, now);
    return { previous: running, next, changed: [...kinds.keys()], kinds, ...(author ? { author } : {}) };
  }

  /** Never throws: the file is already written; after an error the next change retries. */
  async function bringInForce(change: ConfigTransition): Promise<void> {
    problem = refused = undefined;
    try {
      if (change.changed.length > 0) await options.apply?.(change);
      running = change.next;
      await options.applied?.();
    } catch (err) {
      const message = `the configuration could not be applied: ${messageOf(err)}; the next change tries again`;
      problem = { message, issues: [] };
      refused = { file: change.next, reason: message };
      log.error({ err, changed: change.changed }, message);
    }
  }

  /** @returns `undefined` when another gateway has changed the text meanwhile */
  async function commit(
    { file: current, kept }: Source,
    draft: string,
    author: ConfigAuthor,
    restartsItself = false,
  ): Promise<ConfigWritten | undefined> {
    const isSame = current.exists && draft === current.text;
    const text = isSame ? draft : await stamped(draft, version, clock.now());
    const next = await interpretConfig(paths.configPath, text, env);
    const issues = await issuesOf(next, kept !== undefined);
    if (issues.length > 0) throw new GatewayError("INVALID_REQUEST", "invalid config", { details: { issues } });
    const change = { ...transition(next, author), restartsItself };
    const denial = await options.validate?.(change);
    if (denial) throw refusal(denial);
    if (!isSame && !(await write({ file: current, kept }, next, author))) return undefined;
    await bringInForce(change);
    return written(next, change);
  }

  /** @returns whether the change was written; `false`: another gateway has changed the text meanwhile */
  async function write({ file: before, kept }: Source, after: ConfigFile, author: ConfigAuthor): Promise<boolean> {
    const changed = changedKeys(before.resolved, after.resolved).filter((key) => !isStamp(key));
    const line = { ...author, at: clock.now(), version, before, after, changedPathCount: changed.length };
    try {
      if (!kept) await writeText(after.text, before.hash);
      else if (!(await replaceKept(kept, after))) return false;
    } catch (error) {
      await audit({ ...line, error });
      throw error;
    }
    await audit(line);
    return true;
  }

  const writeText = (text: string, expectedHash: string) =>
    writeConfigFile(paths.configPath, text, { expectedHash, ...(files ? { files } : {}) });

  /** @returns whether the text was replaced */
  async function replaceKept({ revision }: Kept, { text, hash }: ConfigFile): Promise<boolean> {
    if (!(await sharedText.keeper?.replace(revision, text))) return false;
    options.shared?.();
    await copy({ revision: revision + 1, text, hash }, await read());
    return true;
  }

  /** Makes the file a copy. Never throws: the next change, or the next start, tries again. */
  async function copy(kept: Kept, before: ConfigFile): Promise<"same" | "replaced" | "failed"> {
    const isOther = before.hash !== kept.hash || !before.exists;
    try {
      if (isOther) await writeText(kept.text, before.hash);
      await sharedText.copied(kept);
      return isOther ? "replaced" : "same";
    } catch (err) {
      sharedText.saw(kept);
      log.error(
        { err, path: paths.configPath },
        "the configuration file could not be replaced with the text in the database; until it can, a restart begins with the former text",
      );
      return "failed";
    }
  }

  async function audit(line: Parameters<typeof auditRecord>[0]): Promise<void> {
    const path = auditPath(paths.stateDir);
    await appendAudit(path, auditRecord(line)).catch((err: unknown) =>
      log.error({ err, path }, "a configuration write could not be recorded in the audit log"),
    );
  }

  function written({ path, hash }: ConfigFile, { next, changed, kinds }: ConfigTransition): ConfigWritten {
    const config = redact(effectiveConfig(next, owners()), hints());
    return { path, hash, config, changed, reload: strongest(kinds.values()) };
  }

  /** @returns whether the file was replaced with a text of which nothing is applied; only if this is a start */
  async function look(isStart = false): Promise<boolean> {
    const file = await read();
    const kept = await sharedText.kept();
    const state = kept && (await sharedText.stateOf(file, kept));
    const next = kept && (state === "old" || state === "overtaken") ? await interpret(kept) : file;
    const isNew = !sameFile(next, running);
    if (refused && sameFile(next, refused.file)) return false;
    const change = transition(next);
    if ((isNew || state === "edited") && !(await isAccepted(change, kept !== undefined))) return false;
    if (kept && state === "edited" && !(await replaceKept(kept, file))) return look(isStart); // another gateway was faster
    const copied = kept && state !== "edited" ? await copy(kept, file) : "same";
    if (state === "overtaken") overtake(file);
    if (!isNew) problem = refused = undefined;
    else if (isStart) return copied === "replaced";
    // A restart would not find the new text.
    else await bringInForce(copied === "failed" ? { ...change, restartsItself: true } : change);
    return false;
  }

  /** Sets `problem` if it is not. */
  async function isAccepted(change: ConfigTransition, isShared: boolean): Promise<boolean> {
    const { next } = change;
    const issues = next.exists ? await issuesOf(next, isShared) : [GONE];
    const denial = issues.length > 0 ? undefined : await options.validate?.(change);
    if (issues.length === 0 && !denial) return true;
    const why = denial ? [denial.reason] : issues.map(({ path, message }) => (path ? `${path}: ${message}` : message));
    const reason = why.join("; ");
    refused = { file: next, reason };
    const message = `${next.path} is not used; the running configuration stays in effect: ${reason}`;
    problem = { message, issues };
    log.warn({ path: next.path, issues: issues.length }, message);
    return false;
  }

  function overtake({ path, hash }: ConfigFile): void {
    const reason = `another gateway has changed the configuration meanwhile; the edited text is in ${path}.bak, repeat its change in ${path}`;
    overtaken = { hash, reason };
    log.warn({ path }, `a change of the configuration file was not used: ${reason}`);
  }

  function inUse(restart: ReturnType<NonNullable<typeof options.restart>>) {
    const not = refused ? { hash: refused.file.hash, reason: refused.reason } : overtaken;
    return {
      hash: running.hash,
      ...(restart ? { restart } : {}),
      ...(not ? { refused: not } : {}),
    };
  }

  const writable = () => {
    if (options.given)
      invalidRequest(
        "the configuration comes from the program that embeds this gateway; change it there, then restart the gateway",
      );
  };
  const ground = (file: ConfigFile): DraftContext => ({ file, env, hints: hints() });
  /** Of a change: an edited copy comes first. */
  async function current(): Promise<Source> {
    writable();
    if (sharedText.keeper) await look();
    else if (options.restart && (await sharedText.isCopy())) unavailable(APART, { retryAfterMs: 1_000 });
    return source();
  }

  async function edit(
    author: ConfigAuthor,
    decide: Parameters<ConfigService["edit"]>[1],
    attempts = MOST_ATTEMPTS,
  ): Promise<ConfigWritten> {
    const from = await current();
    refuseOnBroken(from.file.issues.filter(({ path }) => path === "")); // an edit may fix the other issues
    const edits = decide(from.file.parsed);
    if (edits.length === 0) return written(from.file, { ...transition(running), next: from.file });
    const done = await commit(from, await editedText(edits, ground(from.file)), author);
    if (done) return done;
    if (attempts <= 1)
      unavailable("other gateways change the configuration all the time; try again", { retryAfterMs: 1_000 });
    return edit(author, decide, attempts - 1);
  }

  async function move(to: ConfigPlace, author: ConfigAuthor): Promise<boolean> {
    if (to === "file" && options.given) return false;
    writable();
    const { keeper } = sharedText;
    if (to === "file" && !keeper) return sharedText.forget();
    if (!keeper) invalidRequest(ALONE);
    await look();
    const [kept, file] = [await keeper.read(), await read()];
    if ((kept.text !== undefined) === (to === "database")) return false;
    const text = to === "database" ? await textToShare(file) : undefined;
    if (!(await keeper.replace(kept.revision, text))) configChanged();
    await audit({ ...author, at: clock.now(), version, before: file, after: file, changedPathCount: 0 });
    options.shared?.();
    await look();
    return true;
  }

  async function textToShare(file: ConfigFile): Promise<string> {
    refuseOnBroken(await issuesOf(file, true));
    return file.exists ? file.text : "{}\n";
  }

  return {
    schema,
    reloadKind: (path) => strongest(reloadKinds([path], owners()).values()) ?? "restart",
    sharedText,
    get running() {
      return running;
    },
    get problem() {
      return problem;
    },
    async snapshot() {
      const { file, kept } = options.given ? { file: running } : await source().catch(copyOnly);
      await options.prepare?.(file);
      const snapshot = await describe(file);
      if (!options.restart) return snapshot;
      return { ...snapshot, running: { ...inUse(options.restart()), ...(kept ? { isShared: true } : {}) } };
    },
    write: ({ mode, raw, replaceLists = false, baseHash, restartsItself, ...author }) =>
      lock(async () => {
        const from = await current();
        checkBaseHash(from.file, baseHash);
        if (mode === "patch") refuseOnBroken(await issuesOf(from.file));
        const draft = mode === "patch" ? patchedText : replacedText;
        const text = await draft({ raw, replaceLists }, ground(from.file));
        return (await commit(from, text, author, restartsItself)) ?? configChanged();
      }),
    edit: (author, decide) => lock(() => edit(author, decide)),
    move: (to, author) => lock(() => move(to, author)),
    refresh: () =>
      lock(async () => {
        if (!options.given) await look();
      }).catch((err: unknown) => {
        const passes = isGatewayError(err) && err.code === "UNAVAILABLE";
        problem = { message: `the configuration could not be read: ${messageOf(err)}`, issues: [], passes };
        log.error({ err }, problem.message);
      }),
    settle: () => lock(async () => !options.given && (await look(true))),
  };
}

/** Choice: how often an edit begins again because another gateway was faster. */
const MOST_ATTEMPTS = 20;

const APART =
  "the configuration is in a database that this gateway does not use now; try again, or give it a configuration of its own: svc config move --to file";
const ALONE =
  "this gateway is not on a database that several gateways can share; start it with SVC_DATABASE_URL, then repeat";

const LOST =
  "with this value, this gateway has found the configuration in the database; to use another one, set SVC_DATABASE_URL where it starts, and remove it here";

const INCLUDES: Issue = {
  path: "$include",
  message: "a configuration in a database cannot include files of one gateway; write their content in its place",
};

function refuseWithinChange(): never {
  unavailable("code called during a configuration change cannot change the configuration; retry after that change", {
    retryAfterMs: 1_000,
  });
}

const SILENT = { warn: () => undefined, error: () => undefined };

/** Choice: deleting the file does not reset the running settings to their defaults. */
const GONE: Issue = { path: "", message: "the file no longer exists; restore it, or restart to run with the defaults" };

function unread(path: string): ConfigFile {
  const none = { parsed: {}, expanded: {}, resolved: {} };
  return { ...none, path, exists: false, text: "", hash: "", issues: [], files: [path] };
}

function sameFile(left: ConfigFile, right: ConfigFile): boolean {
  return (
    left.exists === right.exists &&
    left.hash === right.hash &&
    sameData(left.resolved, right.resolved) &&
    sameData(left.issues, right.issues)
  );
}

function refuseOnBroken(issues: readonly Issue[]): void {
  if (issues.length === 0) return;
  throw new GatewayError(
    "INVALID_REQUEST",
    "the current config is invalid; fix it first, or replace it with config.set",
    {
      details: { issues },
    },
  );
}

function refusal({ code, reason, details, retryAfterMs }: Denial): GatewayError {
  const wait = retryAfterMs === undefined ? {} : { retryAfterMs };
  return new GatewayError(code ?? "INVALID_REQUEST", reason, { details, ...wait });
}
