/** Chat networks: the same people and groups get in as before, in the notation of the plugins here. */
import { convert, type Draft, move, note, remove } from "./config-draft.ts";
import { at, cut, dotted, isEmpty, isValues, type Path, put, type Values } from "./config-paths.ts";

interface Network {
  /** A person of `allowFrom`, as the plugin here writes it. */
  person(text: string): string;
  /** What a person looks like here; anything else lets nobody in. */
  readonly people: RegExp;
  /** In groups, only people of `groupAllowFrom`, else of `allowFrom`, are read. */
  readonly senders?: true;
  readonly renames?: Readonly<Record<string, string>>;
  /** Id of a group, as the plugin here writes it. */
  group?(text: string): string;
  /** What a group looks like here, if it differs. */
  readonly groups?: RegExp;
  /** Where the groups are instead of in `groups`, and what their ids look like. */
  readonly rooms?: { readonly below: "guilds" | "channels"; readonly id: RegExp };
  /** In a listed group, everyone is read if no people are listed. */
  readonly listedForAll?: true;
  /** With `groupPolicy` open, groups that are not listed are read, too. */
  readonly openForAll?: true;
  /** Another name of the channel. */
  readonly formerly?: string;
  /** Accounts without this key are linked phones. */
  readonly business?: string;
}

const without = (prefixes: RegExp) => (text: string) => text.replace(prefixes, "");
const digits = (text: string) => (/^\+?[\d\s().-]+$/u.test(text) ? text.replaceAll(/\D/gu, "") : text);

/** The networks whose plugins are in the bundle. */
const NETWORKS: Readonly<Record<string, Network>> = {
  telegram: {
    person: without(/^(?:telegram|tg):/iu),
    people: /^-?\d+$/u,
    senders: true,
    listedForAll: true,
    renames: { streamMode: "streaming" },
  },
  discord: {
    person: (text) => text.replace(/^<@!?(\d+)>$/u, "$1").replace(/^(?:discord|user):/iu, ""),
    people: /^\d+$/u,
    rooms: { below: "guilds", id: /^\d+$/u },
  },
  slack: {
    person: without(/^(?:slack|user):/iu),
    people: /^[UWB][A-Z0-9]+$/u,
    rooms: { below: "channels", id: /^(?:[CG][A-Z0-9]+|\*)$/u },
    openForAll: true,
  },
  whatsapp: {
    person: (text) => digits(text.replace(/^whatsapp:/iu, "")),
    people: /^(?:lid:)?\d+$/u,
    senders: true,
    renames: { selfChatMode: "selfChat" },
    business: "phoneNumberId",
  },
  signal: {
    person: without(/^(?:signal|uuid):/iu),
    people: /^[0-9a-f-]{36}$/u,
    senders: true,
    renames: { httpUrl: "url", cliPath: "command", configPath: "dataDir" },
    group: (text) => (text === "*" || text.startsWith("group:") ? text : `group:${text}`),
  },
  imessage: {
    person: (text) => text.replace(/^(?:imessage|sms|auto):/iu, "").toLowerCase(),
    people: /^(?:\+\d+|[^@\s]+@[^@\s]+)$/u,
    senders: true,
    renames: { cliPath: "command" },
    formerly: "bluebubbles",
    group: (text) => (/;[+-];/u.test(text) ? `chat:${text.replace(/^chat(?:_guid)?:/u, "")}` : text),
    groups: /^(?:chat:.+|\*)$/u,
  },
  msteams: { person: without(/^(?:msteams|user):/iu), people: /^[0-9a-f-]{36}$/iu, senders: true },
  mattermost: { person: without(/^(?:mattermost|user):/iu), people: /^[a-z0-9]{26}$/u, senders: true },
};

/** Networks of plugins that are installed on their own. */
export const INSTALLABLE: Readonly<Record<string, string>> = {
  irc: "svc plugins install svc-channel-irc, then svc channels add irc; name people account:<name>: nicks are free",
  matrix: "svc plugins install @svc/plugin-matrix, then svc channels add matrix",
};

const STREAMING: ReadonlyMap<unknown, string> = new Map<unknown, string>([
  [true, "draft"],
  ["partial", "draft"],
  ["progress", "draft"],
  [false, "off"],
]);

/**
 * The id of a person or group of a network, as the plugin here writes it; also part of session keys.
 * @param kind `direct`, `dm`, `group` or `channel`
 */
export function peerId(channel: string, kind: string, id: string): string {
  const network = Object.hasOwn(NETWORKS, channel) ? NETWORKS[channel] : undefined;
  const convertId = kind === "direct" || kind === "dm" ? network?.person : network?.group;
  return convertId?.(id) ?? id;
}

/** Bindings and identity links name people, too. */
function convertPeers(draft: Draft): void {
  const bindings = at(draft.config, ["bindings"]);
  for (const [index, binding] of (Array.isArray(bindings) ? (bindings as unknown[]) : []).entries()) {
    const [channel, kind, id] = [["channel"], ["peer", "kind"], ["peer", "id"]].map((path) =>
      at(binding, ["match", ...path]),
    );
    const next = typeof id === "string" ? peerId(String(channel), String(kind), id) : id;
    if (next !== id)
      convert(draft, ["bindings", index, "match", "peer", "id"], next, "an id in the notation of this gateway");
  }
  for (const [name, links] of Object.entries(Object(at(draft.config, ["session", "identityLinks"])) as Values)) {
    if (!Array.isArray(links)) continue;
    const next = links.map((link) => {
      const [channel = "", ...rest] = String(link).split(":");
      return rest.length === 0 ? String(link) : `${channel}:${peerId(channel, "direct", rest.join(":"))}`;
    });
    if (next.some((link, index) => link !== links[index]))
      convert(draft, ["session", "identityLinks", name], next, "ids in the notation of this gateway");
  }
}

export function convertChannels(draft: Draft): void {
  convertPeers(draft);
  const common = ["channels", "defaults", "groupPolicy"];
  const policy = at(draft.config, common);
  if (policy !== undefined) note(draft, common, "convert", "is groupPolicy of each channel here");
  cut(draft.config, common);
  for (const [name, network] of Object.entries(NETWORKS)) {
    const path = ["channels", name];
    if (network.formerly !== undefined) move(draft, ["channels", network.formerly], path);
    const section = at(draft.config, path);
    if (!isValues(section)) continue;
    for (const id of Object.keys(Object(section["accounts"]) as Values))
      if (id !== id.toLowerCase()) move(draft, [...path, "accounts", id], [...path, "accounts", id.toLowerCase()]);
    const accounts = Object.entries(Object(section["accounts"]) as Values).flatMap(([id, account]) =>
      isValues(account) ? [[...path, "accounts", id]] : [],
    );
    for (const one of [path, ...accounts]) convertAccount(draft, one, network);
    const inherited = { groupPolicy: policy, ...section };
    for (const one of accounts) limitGroups(draft, one, inherited, network);
    limitGroups(draft, path, { groupPolicy: policy }, network);
    if (network.business === undefined || section[network.business] !== undefined) continue;
    put(draft.config, [...path, "transport"], "web");
    const login = "the login of the linked phone is not copied, since two programs that use it log each other out";
    draft.warnings.push(
      `${dotted(path)}: ${login}; next: svc plugins install @svc/plugin-${name}-web, then svc channels login ${name}`,
    );
  }
}

function convertAccount(draft: Draft, path: Path, network: Network): void {
  const { config } = draft;
  for (const [from, to] of Object.entries(network.renames ?? {})) move(draft, [...path, from], [...path, to]);
  move(draft, [...path, "dm", "policy"], [...path, "dmPolicy"]);
  move(draft, [...path, "dm", "allowFrom"], [...path, "allowFrom"]);
  const direct = [...path, "dm", "enabled"];
  if (at(config, direct) === false) put(config, [...path, "dmPolicy"], "disabled");
  if (at(config, direct) !== undefined) note(draft, direct, "convert", "is dmPolicy here");
  cut(config, direct);
  clear(config, [...path, "dm"]);
  for (const key of ["allowFrom", "groupAllowFrom"]) convertPeople(draft, [...path, key], network);
  convertStreaming(draft, [...path, "streaming"]);
  if (network.rooms) convertRooms(draft, path, network.rooms);
  const groups = at(config, [...path, "groups"]);
  for (const [id, group] of Object.entries(Object(groups) as Values)) {
    const here = [...path, "groups", id];
    if (at(group, ["enabled"]) === true) remove(draft, [...here, "enabled"], "drop", "is the default");
    else if (at(group, ["enabled"]) === false && at(groups, ["*"]) === undefined)
      remove(draft, here, "drop", "only groups that are listed are read");
    else if (network.group && network.group(id) !== id) move(draft, here, [...path, "groups", network.group(id)]);
  }
  const others = Object.keys(Object(groups) as Values).filter((id) => network.groups?.test(id) === false);
  if (others.length > 0)
    draft.stricter.push(
      `${dotted(path)}.groups: ${others.join(", ")} are not ids here; next: see svc sessions list for those of groups`,
    );
}

function convertPeople(draft: Draft, path: Path, { person, people }: Network): void {
  const given = at(draft.config, path);
  if (!Array.isArray(given)) return;
  const next = given.map((one) => (typeof one === "object" ? (one as unknown) : person(String(one).trim())));
  if (next.some((one, index) => one !== given[index]))
    convert(draft, path, next, "ids in the notation of this gateway");
  const others = next.filter((one) => one !== "*" && !people.test(String(one))).length;
  if (others > 0)
    draft.stricter.push(
      `${dotted(path)}: ${others} of ${next.length} entries are no ids and let nobody in; next: /whoami shows ids`,
    );
}

function convertStreaming(draft: Draft, path: Path): void {
  const given = at(draft.config, path);
  const mode = isValues(given) ? given["mode"] : given;
  const next = STREAMING.get(mode) ?? mode;
  if (isValues(given)) {
    remove(draft, path, "drop", "the network decides how often an answer grows");
    if (next !== undefined) convert(draft, path, next);
    note(draft, [...path, "mode"], "convert", "is streaming here");
  } else if (next !== given) convert(draft, path, next, "has other names here");
}

/** Channels of servers -> `groups`. What limits one of them is left for the check of protections. */
function convertRooms(draft: Draft, path: Path, { below, id: isId }: NonNullable<Network["rooms"]>): void {
  const root = [...path, below];
  const { config } = draft;
  const found = Object.entries(Object(at(config, root)) as Values);
  const servers = below === "guilds" ? found.map(([id, own]) => [[...root, id], own] as const) : [[path, {}] as const];
  for (const [server, outer] of servers) {
    const rooms = Object.entries(Object(at(config, [...server, "channels"])) as Values);
    let listed = 0;
    for (const [id, own] of rooms) {
      const room = [...server, "channels", id];
      const isRead = at(own, ["allow"]) !== false && at(own, ["enabled"]) !== false;
      if (!isRead) remove(draft, room, "drop", "only groups that are listed are read");
      else if (!isId.test(id))
        remove(draft, room, "keep", "has no id", `svc config set ${dotted(path)}.groups, with the id of the channel`);
      else {
        listRoom(draft, path, room, { ...(Object(outer) as Values), ...(Object(own) as Values) });
        listed += 1;
      }
    }
    if (below === "channels") continue;
    const next = `svc config set ${dotted(path)}.groups, with the ids of its channels`;
    if (listed === 0) remove(draft, server, "keep", "channels are listed one by one here, so none of it is read", next);
    else
      for (const key of ["requireMention", "tools", "slug"])
        remove(draft, [...server, key], "drop", "is a setting of each channel here");
  }
  for (const [server] of servers) clear(config, [...server, "channels"]);
  if (below === "guilds") for (const [server] of servers) clear(config, server);
  clear(config, root);
}

function listRoom(draft: Draft, path: Path, room: Path, settings: Values): void {
  const { config, moved } = draft;
  const group = [...path, "groups", String(room.at(-1))];
  const { requireMention, tools, toolsBySender } = settings;
  const own = Object.entries({ requireMention, tools, toolsBySender }).filter(([, value]) => value !== undefined);
  note(draft, room, "convert", "is an entry of groups here");
  for (const key of ["allow", "enabled", "requireMention", "tools", "toolsBySender"]) cut(config, [...room, key]);
  put(config, group, Object.fromEntries(own));
  moved.push({ from: room, to: group });
  clear(config, room);
}

/** Removes an object that has become empty, but not those above it. */
function clear(config: Values, path: Path): void {
  if (isEmpty(at(config, path))) cut(config, path);
}

/**
 * `groupPolicy` limits people there: to `groupAllowFrom`, else to `allowFrom`; and listed groups are the only ones.
 * Here it limits groups, and `groupAllowFrom` limits people.
 */
function limitGroups(draft: Draft, path: Path, inherited: Values, network: Network): void {
  const { config } = draft;
  const own = Object(at(config, path)) as Values;
  const keys = ["groupPolicy", "groupAllowFrom", "allowFrom", "groups"];
  if (path.length > 2 && !keys.some((key) => own[key] !== undefined)) return;
  const { groupPolicy = "allowlist", groups, groupAllowFrom, allowFrom } = { ...inherited, ...own };
  const listed = Object.keys(Object(groups) as Values);
  if (own["groupPolicy"] === undefined && groupPolicy !== "allowlist")
    put(config, [...path, "groupPolicy"], groupPolicy);
  if (groupPolicy === "open" && listed.length > 0 && !listed.includes("*") && !network.openForAll)
    convert(draft, [...path, "groupPolicy"], "allowlist", "only the listed groups, as before");
  if (groupPolicy === "open" && path.length > 2 && groupAllowFrom === undefined)
    put(config, [...path, "groupAllowFrom"], ["*"]); // not those of the channel
  if (groupPolicy !== "allowlist" || !network.senders) return;
  const senders = groupAllowFrom ?? allowFrom ?? [];
  const isAnybody = Array.isArray(senders) && senders.length === 0;
  if (listed.length === 0 && !isAnybody && own["teams"] === undefined) put(config, [...path, "groups"], { "*": {} });
  if (isAnybody && network.listedForAll && listed.length > 0 && !listed.includes("*")) return;
  if (own["groupAllowFrom"] === undefined) put(config, [...path, "groupAllowFrom"], structuredClone(senders));
}
