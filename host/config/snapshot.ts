/** The configuration with secrets hidden, for readers. Spec: protocol/methods-config.md §1. */
import type { ConfigSnapshot } from "@svc/sdk/config";
import { hideComments } from "./comment-secrets.ts";
import type { ConfigFile, Issue } from "./file.ts";
import { parseConfig } from "./parse.ts";
import { sameData } from "./plain-data.ts";
import { type Hints, redact, redactText } from "./redact.ts";
import { configIssues, effectiveConfig, type SectionOwner, unownedKeys } from "./sections.ts";

/**
 * For an invalid file, contains only its issues and hash.
 * @param refusal why a gateway would not start with the file; reported only if it has no other issue
 */
export async function describeConfig(
  file: ConfigFile,
  owners: readonly SectionOwner[],
  hints: Hints,
  refusal?: Issue,
): Promise<ConfigSnapshot> {
  const { path, exists, hash, text } = file;
  const found = configIssues(file, owners);
  const issues = found.length === 0 && refusal !== undefined ? [refusal] : found;
  const head = { path, exists, hash, issues, warnings: unownedKeys(file, owners), legacyIssues: [] };
  if (issues.length > 0) return { ...head, valid: false, raw: null, parsed: null, resolved: {}, config: {} };

  const secrets = new Set<string>();
  const parsed = redact(file.parsed, hints, secrets);
  const resolved = redact(file.resolved, hints, secrets);
  const config = redact(effectiveConfig(file, owners), hints, secrets);
  const raw = exists ? await redactedText(text, parsed, secrets) : null;
  return { ...head, valid: true, raw, parsed, resolved, config };
}

/** The text with secrets replaced and comments kept; if that damages other values, the redacted object as JSON. */
async function redactedText(text: string, redacted: unknown, secrets: ReadonlySet<string>): Promise<string> {
  const cut = redactText(hideComments(text), secrets);
  const reread = await parseConfig(cut);
  return "value" in reread && sameData(reread.value, redacted) ? cut : `${JSON.stringify(redacted, null, 2)}\n`;
}
