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
import { sameData } from "./plain-data.ts";
import { type Hints, redact } from "./redact.ts";
import { composeHints, composeSchema, configIssues, effectiveConfig, type SectionOwner } from "./sections.ts";
import { describeConfig } from "./snapshot.ts";
import { isStamp, stamped } from "./stamp.ts";
import { type Files, writeConfigFile } from "./write-file.ts";

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
  /** Reads the file. Applies a valid change; keeps the running configuration and sets `problem` if the file is invalid. Never throws. */
  refresh(): Promise<void>;
}

export function createConfigStore(options: ConfigStoreOptions): ConfigStore {
  const { paths, env, version, owners, clock = systemClock, log = SILENT, files } = options;
  const lock = createLock(refuseWithinChange);
  let running = options.initial ?? unread(paths.configPath);
  let problem: ConfigProblem | undefined;
  const secret = new Map<string, object>();
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
  async function issuesOf(file: ConfigFile): Promise<readonly Issue[]> {
    await options.prepare?.(file);
    return configIssues(file, owners());
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

  async function commit(
    current: ConfigFile,
    draft: string,
    author: ConfigAuthor,
    restartsItself = false,
  ): Promise<ConfigWritten> {
    const isSame = current.exists && draft === current.text;
    const text = isSame ? draft : await stamped(draft, version, clock.now());
    const next = await interpretConfig(paths.configPath, text, env);
    const issues = await issuesOf(next);
    if (issues.length > 0) throw new GatewayError("INVALID_REQUEST", "invalid config", { details: { issues } });
    const change = { ...transition(next, author), restartsItself };
    const denial = await options.validate?.(change);
    if (denial) throw refusal(denial);
    if (!isSame) await write(current, next, author);
    await bringInForce(change);
    return written(next, change);
  }

  async function write(before: ConfigFile, after: ConfigFile, { actor, action }: ConfigAuthor): Promise<void> {
    const changed = changedKeys(before.resolved, after.resolved).filter((key) => !isStamp(key));
    const line = { actor, action, at: clock.now(), version, before, after, changedPathCount: changed.length };
    try {
      await writeConfigFile(after.path, after.text, { expectedHash: before.hash, ...(files ? { files } : {}) });
    } catch (error) {
      await audit({ ...line, error });
      throw error;
    }
    await audit(line);
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

  async function look(): Promise<void> {
    const next = await read();
    if (sameFile(next, running)) return void (problem = refused = undefined);
    if (refused && sameFile(next, refused.file)) return;
    const issues = next.exists ? await issuesOf(next) : [GONE];
    const change = issues.length > 0 ? undefined : transition(next);
    const denial = change && (await options.validate?.(change));
    if (change && !denial) return bringInForce(change);
    const why = denial ? [denial.reason] : issues.map(({ path, message }) => (path ? `${path}: ${message}` : message));
    const reason = why.join("; ");
    refused = { file: next, reason };
    const message = `${next.path} is not used; the running configuration stays in effect: ${reason}`;
    problem = { message, issues };
    log.warn({ path: next.path, issues: issues.length }, message);
  }

  function inUse(restart: ReturnType<NonNullable<typeof options.restart>>) {
    return {
      hash: running.hash,
      ...(restart ? { restart } : {}),
      ...(refused ? { refused: { hash: refused.file.hash, reason: refused.reason } } : {}),
    };
  }

  const writable = () => {
    if (options.given)
      invalidRequest(
        "the configuration comes from the program that embeds this gateway; change it there, then restart the gateway",
      );
  };
  const ground = (file: ConfigFile): DraftContext => ({ file, env, hints: hints() });

  return {
    schema,
    get running() {
      return running;
    },
    get problem() {
      return problem;
    },
    async snapshot() {
      const file = options.given ? running : await read();
      await options.prepare?.(file);
      const snapshot = await describe(file);
      return options.restart ? { ...snapshot, running: inUse(options.restart()) } : snapshot;
    },
    write: ({ mode, raw, replaceLists = false, baseHash, restartsItself, ...author }) =>
      lock(async () => {
        writable();
        const current = await read();
        checkBaseHash(current, baseHash);
        if (mode === "patch") refuseOnBroken(await issuesOf(current));
        const draft = mode === "patch" ? patchedText : replacedText;
        return commit(current, await draft({ raw, replaceLists }, ground(current)), author, restartsItself);
      }),
    edit: (author, decide) =>
      lock(async () => {
        writable();
        const current = await read();
        refuseOnBroken(current.issues.filter(({ path }) => path === "")); // an edit may fix the other issues
        const edits = decide(current.parsed);
        if (edits.length === 0) return written(current, { ...transition(running), next: current });
        return commit(current, await editedText(edits, ground(current)), author);
      }),
    refresh: () =>
      lock(async () => {
        if (!options.given) await look();
      }).catch((err: unknown) => {
        const passes = isGatewayError(err) && err.code === "UNAVAILABLE";
        problem = { message: `the configuration could not be read: ${messageOf(err)}`, issues: [], passes };
        log.error({ err }, problem.message);
      }),
  };
}

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
