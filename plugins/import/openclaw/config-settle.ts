/**
 * The last step: validation decides which settings are taken. What it refuses or does not use is put aside, or, if it
 * promises a protection, stops the import until it is given up by name.
 */
import type { CheckedConfig, ConfigIssue } from "@svc/kit/import";
import { refusal } from "@svc/sdk/errors";
import { INSTALLABLE } from "./config-channels.ts";
import { type Draft, origin, remove } from "./config-draft.ts";
import { at, compact, dotted, isValues, leaves, locate, type Path, put, type Values } from "./config-paths.ts";
import { protectionsAmong } from "./config-protections.ts";
import { missingIn, useText, type Variables } from "./config-variables.ts";

/** What decides. */
export interface Judge {
  check(config: Values): Promise<CheckedConfig>;
  readonly without: ReadonlySet<string>;
}

/** A protective setting that this gateway does not have. */
export interface Unprotected {
  readonly key: string;
  readonly protects: string;
  readonly instead: string;
}

interface Finding extends ConfigIssue {
  readonly kind: "invalid" | "unused" | "without effect";
}

/** What was found so far, and given up. */
interface Refusals {
  readonly unprotected: Map<string, Unprotected>;
  readonly missing: Map<string, string>;
  readonly givenUp: Set<string>;
}

/** Takes out what validation refuses or does not use, until nothing of it is left. */
export async function settle(draft: Draft, source: Judge, variables: Variables): Promise<void> {
  const refusals: Refusals = { unprotected: new Map(), missing: new Map(), givenUp: new Set() };
  for (;;) {
    const candidate = compact(draft.config) as Values; // a copy of an object
    const { issues, warnings, unused, withoutEffect } = await source.check(candidate);
    const findings = [
      ...unused.map((path): Finding => ({ path, message: "no plugin in use has it", kind: "unused" })),
      ...withoutEffect.map((one): Finding => ({ ...one, kind: "without effect" })),
      ...issues.map((one): Finding => ({ ...one, kind: "invalid" })),
    ];
    if (findings.length === 0) {
      draft.warnings.push(...warnings.map(({ path, message }) => `${path}: ${message}`));
      break;
    }
    const targets = findings.map((one) => culprit(draft.config, one));
    // A setting without its variable may be unknown, too; then it needs none.
    const isSure = (one: Culprit) =>
      one.finding.unexpected !== undefined || missingIn(at(draft.config, one.path), variables).length === 0;
    const inOrder = targets
      .flatMap((one) => one ?? [])
      .sort((one, other) => Number(isSure(other)) - Number(isSure(one)));
    const settled = inOrder.map((culprit) => settleOne(draft, { culprit, source, variables, refusals }));
    if (!settled.includes(true)) refuseInvalid(findings);
  }
  refuseFound(refusals);
  for (const key of source.without)
    if (!refusals.givenUp.has(key))
      draft.warnings.push(`--without ${key}: this is not needed; the configuration has no such protection`);
}

interface Culprit {
  readonly path: Path;
  readonly finding: Finding;
}

/** The setting that a finding is about; `undefined`: it is not about a single one. */
function culprit(config: Values, finding: Finding): Culprit | undefined {
  const { path, whole } = locate(config, finding.path);
  if (whole && finding.unexpected !== undefined) return { path: [...path, finding.unexpected], finding };
  const isOne = path.length > 1 || (path.length === 1 && (finding.kind === "unused" || !isValues(at(config, path))));
  return isOne ? { path, finding } : undefined;
}

interface Settling {
  readonly culprit: Culprit;
  readonly source: Judge;
  readonly variables: Variables;
  readonly refusals: Refusals;
}

/** @returns whether the new configuration was changed */
function settleOne(draft: Draft, { culprit: found, source, variables, refusals }: Settling): boolean {
  const { path: target, finding } = found;
  const value = at(draft.config, target);
  if (value === undefined) return false;
  if (finding.kind === "invalid" && useText(draft, variables, target)) return true;
  const place = origin(draft, target);
  for (const name of finding.kind === "invalid" && finding.unexpected === undefined ? missingIn(value, variables) : [])
    if (!isGivenUp(place, source, refusals)) refusals.missing.set(dotted(place), name);
  const [reason, next] = whyOf(found);
  const unknown = finding.kind === "without effect" ? undefined : reason;
  const below = isAccount(target) ? [] : leaves(value).map((path) => origin(draft, [...target, ...path]));
  const protections = protectionsAmong(draft.source, below, unknown);
  const isOff = protections.some(({ path, entry }) => entry === undefined && path.length === place.length);
  remove(draft, target, isOff || unknown === undefined ? "drop" : "keep", reason, next);
  for (const { path, entry } of protections) {
    const key = dotted(path);
    if (!entry) draft.fates.push({ path, fate: { action: "drop", reason: "protects nothing with this value" } });
    else if (!isGivenUp(path, source, refusals))
      refusals.unprotected.set(key, { key, protects: entry.protects, instead: entry.instead });
    else {
      draft.fates.push({ path, fate: { action: "drop", reason: `given up: ${entry.instead}` } });
      draft.weaker.push(`${key}: this ${entry.protects}; here: ${entry.instead}`);
      if (entry.substitute) put(draft.config, entry.substitute.path, entry.substitute.value);
    }
  }
  return true;
}

/** A channel, or an account of it, that is not imported lets nobody in. */
function isAccount(path: Path): boolean {
  return path[0] === "channels" && (path.length === 2 || (path.length === 4 && path[2] === "accounts"));
}

function whyOf({ path, finding }: Culprit): readonly [reason: string, next?: string] {
  const next = finding.kind === "unused" && isAccount(path) ? INSTALLABLE[String(path[1])] : undefined;
  if (next !== undefined) return ["its plugin is not in the bundle", next];
  return [finding.unexpected === undefined ? finding.message : "this gateway has no such setting"];
}

function isGivenUp(path: Path, { without }: Judge, { givenUp }: Refusals): boolean {
  const key = path.map((_, index) => dotted(path.slice(0, index + 1))).find((one) => without.has(one));
  if (key !== undefined) givenUp.add(key);
  return key !== undefined;
}

/** @throws GatewayError `IMPORT_UNPROTECTED` if a protection is not given up, `IMPORT_UNREADABLE` if a variable is not set */
function refuseFound({ unprotected, missing }: Refusals): void {
  if (unprotected.size > 0) {
    const keys = [...unprotected.values()];
    const lines = keys.map(({ key, protects, instead }) => `${key}: this ${protects}; here: ${instead}`);
    const flags = keys.map(({ key }) => `--without ${/^[\w.-]+$/u.test(key) ? key : `'${key}'`}`).join(" ");
    const first = "the configuration promises protections that this gateway does not have:";
    const next = `Next: read them, then give them up: ${flags}`;
    throw refusal("IMPORT_UNPROTECTED", [first, ...lines, next].join("\n"), { keys });
  }
  if (missing.size > 0) {
    const names = [...missing].map(([key, name]) => `${name} (${key})`).join(", ");
    throw refusal(
      "IMPORT_UNREADABLE",
      `the configuration needs variables that are not set: ${names}\nNext: export them, or use --without-config`,
      { keys: [...missing.keys()] },
    );
  }
}

function refuseInvalid(findings: readonly Finding[]): never {
  const lines = findings.map(({ path, message }) => `${path}: ${message}`);
  const next = "Next: correct it, or import without it: --without-config";
  throw refusal("IMPORT_UNREADABLE", ["no gateway starts with this configuration:", ...lines, next].join("\n"));
}
