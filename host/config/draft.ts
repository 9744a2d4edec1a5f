/** Computes the new text of the file from a requested change. Makes the checks that need no schema. */
import { invalidRequest } from "@svc/sdk";
import type { ConfigChange, ConfigEdit } from "@svc/sdk/config";
import { restoreComments } from "./comment-secrets.ts";
import { rewriteText } from "./edit-text.ts";
import { keepPlaceholders, substitute } from "./environment.ts";
import type { ConfigFile } from "./file.ts";
import { expandIncludes } from "./include.ts";
import { applyEdits, dropInherited, mergePatch } from "./merge-patch.ts";
import { parseConfig, parseJson5 } from "./parse.ts";
import type { Environment } from "./paths.ts";
import { isObject, own, type PlainObject, sameData } from "./plain-data.ts";
import type { Hints } from "./redact.ts";
import { restore } from "./restore.ts";
import { configChanged } from "./write-file.ts";

/** The file to change, and the data needed to interpret it. */
export interface DraftContext {
  readonly file: ConfigFile;
  readonly env: Environment;
  readonly hints: Hints;
}

/** @throws GatewayError `INVALID_REQUEST` when the change is not based on the current file */
export function checkBaseHash({ exists, hash }: ConfigFile, baseHash: string | undefined): void {
  if (exists && hash === "")
    invalidRequest(
      "config base hash unavailable, since the file cannot be read; re-run config.get to see why, then retry",
    );
  if (exists && baseHash === undefined)
    invalidRequest("config base hash required; re-run config.get and retry with its hash as baseHash");
  if (baseHash !== undefined && baseHash.toLowerCase() !== hash) configChanged();
}

/** The caller's text with its sentinels restored. @throws GatewayError `INVALID_REQUEST` on a syntax error or a sentinel without a stored value */
export async function replacedText(
  { raw: given }: Pick<ConfigChange, "raw">,
  { file, hints }: DraftContext,
): Promise<string> {
  const raw = restoreComments(given, file.text);
  const parsed = await parseConfig(raw);
  if ("message" in parsed) invalidRequest(parsed.message);
  const restored = restore(parsed.value, [file.parsed, file.expanded], hints) as PlainObject; // an object stays one
  return sameData(restored, parsed.value) ? raw : rewriteText(raw, restored);
}

/**
 * The file with a merge patch applied to its written form: adds no defaults, keeps placeholders and includes. A key of an
 * included file is overridden in the main file. @throws GatewayError `INVALID_REQUEST`
 */
export async function patchedText(
  { raw, replaceLists }: Pick<ConfigChange, "raw" | "replaceLists">,
  ground: DraftContext,
): Promise<string> {
  const { file, env, hints } = ground;
  const parsed = await parseJson5(raw);
  if ("message" in parsed) invalidRequest(parsed.message);
  if (!isObject(parsed.value)) invalidRequest("a patch must be one object; to replace the whole file use config.set");
  const patch = restore(parsed.value, [file.parsed, file.expanded], hints);
  const merged = keepPlaceholders(mergePatch(file.parsed, patch, replaceLists), file.parsed, env);
  const next = dropInherited(merged, file.parsed, file.expanded) as PlainObject;
  if (hasIncludes(file)) {
    const meant = await expanded(mergePatch(file.expanded, patch, replaceLists), file.path);
    await checkIncludes(next, ground, ({ found }) => firstDifference(meant, found, env));
  }
  return rewriteText(file.text, next);
}

/** The file with single values set or removed. @throws GatewayError `INVALID_REQUEST` */
export async function editedText(edits: readonly ConfigEdit[], ground: DraftContext): Promise<string> {
  const { file, hints } = ground;
  const next = restore(applyEdits(file.parsed, edits), [file.parsed, file.expanded], hints) as PlainObject;
  if (hasIncludes(file)) {
    await checkIncludes(next, ground, async ({ found }) => {
      for (const { path } of edits) {
        const wanted = await expanded(valueAt(next, path), file.path);
        if (path.every((step) => typeof step === "string") && !sameData(wanted, valueAt(found, path)))
          return path.join(".");
      }
      return undefined;
    });
  }
  return rewriteText(file.text, next);
}

function hasIncludes({ files }: ConfigFile): boolean {
  return files.length > 1;
}

async function expanded(value: unknown, path: string): Promise<unknown> {
  const result = await expandIncludes(value, path);
  return "value" in result ? result.value : undefined; // the check of the whole file reports a broken include
}

/** Refuses an ineffective change: the main file can only extend lists of included files, and cannot remove their keys. */
async function checkIncludes(
  next: PlainObject,
  { file }: DraftContext,
  differs: (result: { found: unknown }) => Promise<string | undefined> | string | undefined,
): Promise<void> {
  const found = await expanded(next, file.path);
  if (found === undefined) return;
  const path = await differs({ found });
  if (path === undefined) return;
  const [, ...included] = file.files;
  invalidRequest(
    `${path || "the configuration"} comes from an included file, and the main file cannot remove it; change it in ${included.join(" or ")}`,
  );
}

/** Dotted path of the first difference, comparing values with placeholders resolved. */
function firstDifference(meant: unknown, found: unknown, env: Environment, path = ""): string | undefined {
  if (isObject(meant) && isObject(found)) {
    for (const key of new Set([...Object.keys(meant), ...Object.keys(found)])) {
      const below = firstDifference(own(meant, key), own(found, key), env, path ? `${path}.${key}` : key);
      if (below !== undefined) return below;
    }
    return undefined;
  }
  const same = sameData(substitute(meant, env, []), substitute(found, env, []));
  return same ? undefined : path;
}

function valueAt(node: unknown, path: ConfigEdit["path"]): unknown {
  return path.reduce<unknown>((value, step) => own(value, step), node);
}
