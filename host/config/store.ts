/** The configuration as other parts of the gateway see it: read anew at each question, secrets hidden. */
import { isDeepStrictEqual } from "node:util";
import { withDefaults } from "@svc/sdk";
import type { ConfigSnapshot, ConfigStore } from "@svc/sdk/services";
import { type ConfigFile, type Issue, parseConfig, readConfigFile } from "./file.ts";
import type { Environment, Paths } from "./paths.ts";
import { redact, redactText } from "./redact.ts";
import {
  composeHints,
  composeSchema,
  hostConfig,
  sectionIssues,
  sectionOf,
  type SectionOwner,
  unownedKeys,
} from "./sections.ts";

export interface ConfigStoreOptions {
  readonly paths: Paths;
  readonly env: Environment;
  readonly version: string;
  /** Who owns which section now. */
  owners(): readonly SectionOwner[];
}

export function createConfigStore({ paths, env, version, owners }: ConfigStoreOptions): ConfigStore {
  const schema = () => {
    const composed = composeSchema(owners());
    return { schema: composed, uiHints: composeHints(composed), version };
  };
  return {
    schema,
    async snapshot(): Promise<ConfigSnapshot> {
      const file = await readConfigFile(paths.configPath, env);
      return describe(file, owners(), schema().uiHints);
    },
  };
}

/** Everything wrong with a file, given who owns what. */
export function configIssues(file: ConfigFile, owners: readonly SectionOwner[]): Issue[] {
  const { issues } = hostConfig(file);
  for (const { section, schema } of owners) {
    if (schema) issues.push(...sectionIssues(section, schema, withDefaults(schema, sectionOf(file.resolved, section))));
  }
  return issues;
}

async function describe(
  file: ConfigFile,
  owners: readonly SectionOwner[],
  hints: Record<string, unknown>,
): Promise<ConfigSnapshot> {
  const { path, exists, hash, text } = file;
  const issues = configIssues(file, owners);
  const head = { path, exists, hash, issues, warnings: unownedKeys(file, owners), legacyIssues: [] };
  if (issues.length > 0) return { ...head, valid: false, raw: null, parsed: null, resolved: {}, config: {} };

  const effective = { ...file.resolved };
  for (const { section, schema } of owners)
    if (schema) effective[section] = withDefaults(schema, sectionOf(file.resolved, section));
  const secrets = new Set<string>();
  const parsed = redact(file.parsed, hints, secrets);
  redact(file.resolved, hints, secrets);
  return {
    ...head,
    valid: true,
    raw: exists ? await redactedText(text, parsed, secrets) : null,
    parsed,
    resolved: redact(file.resolved, hints),
    config: redact(effective, hints),
  };
}

/** The text with secrets cut out, comments kept; where that would cut into something else, the redacted object as JSON. */
async function redactedText(text: string, redacted: unknown, secrets: ReadonlySet<string>): Promise<string> {
  const cut = redactText(text, secrets);
  const reread = await parseConfig(cut);
  const same = "value" in reread && isDeepStrictEqual(reread.value, redacted);
  return same ? cut : `${JSON.stringify(redacted, null, 2)}\n`;
}
