/**
 * The configuration of OpenClaw -> one for this gateway. First what has another name or form here is
 * converted, then validation decides what is taken: see `settle`.
 */
import { join } from "node:path";
import type { CheckedConfig, ConvertedSettings } from "@svc/kit/import";
import { refusal } from "@svc/sdk/errors";
import { convertAgents } from "./config-agents.ts";
import { convertChannels } from "./config-channels.ts";
import { createDraft, type Draft, itemsOf, remove } from "./config-draft.ts";
import { readConfigText } from "./config-include.ts";
import { type AgentCredentials, convertModels } from "./config-models.ts";
import { at, compact, cut, dotted, fits, leaves, prune, put, type Values } from "./config-paths.ts";
import { settle } from "./config-settle.ts";
import { fillVariables, IMPORTED, noteVariables, readVariables, usedSecrets } from "./config-variables.ts";
import { addPeople, type LetIn } from "./people.ts";
import { WITHOUT } from "./config-without.ts";

export type { Unprotected } from "./config-settle.ts";

export interface ConfigSource {
  /** JSON5. */
  readonly text: string;
  readonly path: string;
  /** State directory of OpenClaw. */
  readonly directory: string;
  readonly home: string;
  /** Final state directory of this gateway. */
  readonly stateDir: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Protective settings that are given up; each covers those below it. */
  readonly without: ReadonlySet<string>;
  readonly agents: readonly AgentCredentials[];
  readonly dotEnv: Readonly<Record<string, string>>;
  /** People that are added to `allowFrom`. */
  readonly people: readonly LetIn[];
  /** Validates a candidate as `svc config validate <file> --json` does. */
  check(config: Values): Promise<CheckedConfig>;
}

/**
 * One item for each leaf of the source; a list of scalars is one leaf. The secrets must be stored before the new configuration is used.
 * @throws GatewayError `IMPORT_UNPROTECTED` (`keys`: every `Unprotected` that is not in `without`), or `IMPORT_UNREADABLE`: the machine
 * is a client, a variable is missing (`keys`), the text cannot be read, or no gateway would start with it
 */
export async function convertConfig(source: ConfigSource): Promise<ConvertedSettings> {
  const draft = createDraft(await readConfigText(source.text, source.path, source.directory));
  refuseClient(draft);
  const variables = readVariables(draft, source);
  convertAgents(draft, source);
  convertChannels(draft);
  addPeople(draft, source.people);
  convertModels(draft, source.agents, variables);
  fillVariables(draft, variables);
  removeListed(draft);
  if (variables.secrets.size > 0) addProvider(draft, source.stateDir);
  put(draft.config, ["gateway", "aliases"], ["openclaw"]);

  await settle(draft, source, variables);
  noteVariables(draft, variables, source);
  const secrets = usedSecrets(draft, variables);
  if (secrets.length === 0 && variables.secrets.size > 0) cut(draft.config, ["secrets", "providers", IMPORTED]);
  prune(draft.config, ["secrets", "providers"]);
  for (const key of Object.keys(draft.config)) prune(draft.config, [key]);
  if (at(draft.config, ["tools", "fs", "workspaceOnly"]) !== true)
    draft.stricter.push("tools.fs.workspaceOnly: file tools of agents never leave the workspace");
  const { kept, weaker, stricter, warnings } = draft;
  const config = compact(draft.config) as Values; // a copy of an object
  return { config, items: itemsOf(draft), kept, weaker, stricter, secrets, warnings };
}

/**
 * What changes for a source without `exec-approvals.json`, for `stricter`.
 * @param isLatest the version in which commands ran without a question if there was no file
 */
export function withoutCommandPolicy(isLatest: boolean): string {
  const before = isLatest ? "ran without a question" : "needed an approval";
  return `command policy: without one, agents run no commands, which ${before} there; next: svc approvals security`;
}

function refuseClient({ config }: Draft): void {
  if (at(config, ["gateway", "mode"]) === "remote")
    throw refusal(
      "IMPORT_UNREADABLE",
      'gateway.mode is "remote": this machine is a client of another gateway\nNext: import on the machine of that one',
      { path: "gateway.mode" },
    );
}

/** Takes out what `WITHOUT` lists, and objects that become empty by it. */
function removeListed(draft: Draft): void {
  for (const { at: pattern, action, reason, next, when } of WITHOUT)
    for (const leaf of leaves(draft.config)) {
      const place = leaf.slice(0, fits(pattern, leaf) ?? 0);
      const value = at(draft.config, place);
      if (place.length === 0 || value === undefined || when?.(value) === false) continue;
      remove(draft, place, action, reason, next);
      prune(draft.config, place.slice(0, -1));
    }
}

function addProvider(draft: Draft, stateDir: string): void {
  const path = ["secrets", "providers", IMPORTED];
  if (at(draft.config, path) !== undefined)
    throw refusal(
      "IMPORT_UNREADABLE",
      `${dotted(path)} is needed for imported secrets\nNext: give the provider of openclaw.json another name`,
      { path: dotted(path) },
    );
  put(draft.config, path, { source: "file", path: join(stateDir, "credentials", "imported.json") });
}
