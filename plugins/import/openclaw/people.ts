/** People whom a channel lets in because they once sent a code. Facts: design/import.md §5.4. */
import type { ImportItem } from "@svc/kit/import";
import { peerId } from "./config-channels.ts";
import { convert, type Draft } from "./config-draft.ts";
import { at, dotted, isValues, type Path } from "./config-paths.ts";
import type { Database } from "./database.ts";
import type { StateFiles } from "./state-files.ts";
import { textIn, textsIn } from "./values.ts";

/** The people of one account of a channel. */
export interface LetIn {
  readonly channel: string;
  readonly accountId: string;
  readonly people: readonly string[];
}

/** The account of files without a name of one. */
const DEFAULT_ACCOUNT = "default";
const FILE = /^([^-]+)(?:-(.+))?-allowFrom\.json$/u;

/** `credentials/<channel>[-<account>]-allowFrom.json`. A file that is damaged lets nobody in. */
export async function letInByFiles({ names, json }: StateFiles): Promise<LetIn[]> {
  const found: LetIn[] = [];
  for (const name of await names("credentials", "file")) {
    const [, channel, accountId = DEFAULT_ACCOUNT] = FILE.exec(name) ?? [];
    if (channel === undefined) continue;
    const value = await json(`credentials/${name}`).catch(() => undefined);
    const people = textsIn(Array.isArray(value) ? value : at(value, ["allowFrom"])).filter(isPerson);
    if (people.length > 0) found.push({ channel, accountId, people });
  }
  return found;
}

/** A code lets in one person, never everyone. */
const isPerson = (entry: unknown) => entry !== "*";

export function letInByDatabase(state: Database): LetIn[] {
  const found = new Map<string, { readonly channel: string; readonly accountId: string; readonly people: string[] }>();
  for (const row of state.rows("channel_pairing_allow_entries", ["channel_key", "account_id", "entry"])) {
    const [channel, accountId] = [String(row["channel_key"]), textIn(row["account_id"]) ?? DEFAULT_ACCOUNT];
    if (!isPerson(row["entry"])) continue;
    const name = `${channel} ${accountId}`;
    const one = found.get(name) ?? { channel, accountId, people: [] };
    found.set(name, one);
    one.people.push(String(row["entry"]));
  }
  return [...found.values()];
}

/** The account of the configuration; `undefined`: there is none. */
function placeOf(config: unknown, { channel, accountId }: LetIn): Path | undefined {
  const path = ["channels", channel];
  const account = [...path, "accounts", accountId.toLowerCase()];
  if (isValues(at(config, account))) return account;
  return isValues(at(config, path)) && accountId === DEFAULT_ACCOUNT ? path : undefined;
}

/** Adds the people to `allowFrom` of accounts with pairing: with another `dmPolicy`, a code lets nobody in there either. */
export function addPeople(draft: Draft, all: readonly LetIn[]): void {
  for (const one of all) {
    const path = placeOf(draft.config, one);
    if (!path) continue;
    const [account, channel] = [path, path.slice(0, 2)].map(
      (place) => at(draft.config, place) as Record<string, unknown>,
    );
    if ((account?.["dmPolicy"] ?? channel?.["dmPolicy"] ?? "pairing") !== "pairing") continue;
    const listed = account?.["allowFrom"] ?? channel?.["allowFrom"];
    const ids = new Set<unknown>([...(Array.isArray(listed) ? (listed as unknown[]) : []), ...idsOf(one)]);
    convert(draft, [...path, "allowFrom"], [...ids], "with the people whom a code let in");
  }
}

const idsOf = ({ channel, people }: LetIn) => people.map((person) => peerId(channel, "direct", person));

/** What became of them. @param config the new one */
export function peopleItem(one: LetIn, config: unknown): ImportItem {
  const path = placeOf(config, one);
  const place = dotted([...(path ?? ["channels", one.channel]), "allowFrom"]);
  const listed = path ? at(config, [...path, "allowFrom"]) : undefined;
  const item = { kind: "people", id: `${one.channel} ${one.accountId}` };
  const reason = `${one.people.length} people were let in by code`;
  if (Array.isArray(listed) && idsOf(one).every((id) => listed.includes(id)))
    return { ...item, action: "convert", reason: `${reason}; they are in ${place}` };
  return {
    ...item,
    action: "drop",
    reason,
    next: `repeat the import with --people, add them to ${place}, or let them ask again`,
  };
}
