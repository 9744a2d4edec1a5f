/** `svc docs [word]`: looks a name up in the reference, or writes the reference as Markdown. Needs no gateway. */
import { invalidRequest } from "@svc/sdk";
import { type CommandContext, cut, show, table } from "@svc/sdk/cli";
import { nearestName } from "@svc/sdk/errors";
import { isKeyOf, machinePages } from "./machine-pages.ts";
import { writeReference } from "./markdown.ts";
import { environmentPages, logPages } from "./names.ts";
import { type Page, pageLines } from "./page.ts";
import { errorPages, eventPages, extensionPages, hookPages, methodPages, servicePages } from "./sdk-pages.ts";

/** Each topic with a function that returns its pages. */
export type Topics = Readonly<Record<string, () => Promise<readonly Page[]> | readonly Page[]>>;

/** A page with its topic. */
interface Found extends Page {
  readonly topic: string;
}

/** Maximum number of names that a search lists. */
const MOST = 40;
/** Maximum characters of a summary in a list. */
const SUMMARY_WIDTH = 100;

function topicsHere(): Topics {
  const { plugins, contributions, commands, config } = machinePages();
  return {
    methods: methodPages,
    events: eventPages,
    hooks: hookPages,
    services: servicePages,
    "extension-points": extensionPages,
    errors: errorPages,
    config,
    environment: environmentPages,
    plugins,
    contributions,
    commands,
    "log-fields": logPages,
  };
}

/** @throws GatewayError `INVALID_REQUEST` for a name that no topic has; the message contains the most similar name */
export async function showDocs(context: CommandContext): Promise<void> {
  const topics = topicsHere();
  const { out } = context.options as { readonly out?: string };
  if (out !== undefined) return writeReference(out, await allPages(topics), context);
  const [first, ...rest] = context.args;
  if (first === undefined) return showTopics(Object.keys(topics), context);
  const read = Object.hasOwn(topics, first) ? topics[first] : undefined;
  const pages = read ? inTopic(first, sorted(await read())) : await allOf(topics);
  if (read && rest.length === 0) return showList(pages, context);
  return showFound((read ? rest : context.args).join(" "), pages, context);
}

const inTopic = (topic: string, pages: readonly Page[]): Found[] => pages.map((page) => ({ ...page, topic }));
const sorted = (pages: readonly Page[]) => pages.toSorted((one, other) => (one.name < other.name ? -1 : 1));

async function allPages(topics: Topics): Promise<ReadonlyMap<string, readonly Page[]>> {
  const read = Object.entries(topics).map(async ([topic, pages]) => [topic, sorted(await pages())] as const);
  return new Map(await Promise.all(read));
}

async function allOf(topics: Topics): Promise<Found[]> {
  return [...(await allPages(topics))].flatMap(([topic, pages]) => inTopic(topic, pages));
}

function showTopics(topics: readonly string[], context: CommandContext): void {
  show(context, { topics }, () => [
    "svc docs <name>           every entry of that name, or the names that contain it",
    "svc docs <topic> [name]   one topic",
    `Topics: ${topics.join(", ")}`,
  ]);
}

function showList(pages: readonly Found[], context: CommandContext): void {
  const list = pages.map(({ name, summary }) => ({ name, summary }));
  show(context, list, () => table(list.map(({ name, summary }) => [name, cut(summary, SUMMARY_WIDTH)])));
}

function showFound(word: string, pages: readonly Found[], context: CommandContext): void {
  const key = describedKey(word, pages);
  const is = ({ topic, name }: Found) =>
    name === word || (topic === "config" && key !== undefined && isKeyOf(name, key));
  const exact = pages.filter(is);
  const lower = word.toLowerCase();
  const others = pages.filter((page) => !is(page) && page.name.toLowerCase().includes(lower));
  const about = pages.filter(
    (page) => exact.length + others.length === 0 && page.summary.toLowerCase().includes(lower),
  );
  const near = [...others, ...about];
  if (exact.length + near.length === 0) refuseUnknown(word, pages);
  const shown = near.slice(0, MOST);
  const value = {
    pages: exact.map((page) => ({ ...page, facts: Object.fromEntries(page.facts) })),
    others: near.map(({ topic, name, summary }) => ({ topic, name, summary })),
  };
  show(context, value, () => [
    ...exact.flatMap((page, at) => [...(at > 0 ? [""] : []), `[${page.topic}]`, ...pageLines(page)]),
    ...(exact.length > 0 && shown.length > 0 ? ["", `Other names with "${word}":`] : []),
    ...table(shown.map(({ topic, name, summary }) => [topic, name, cut(summary, SUMMARY_WIDTH)])),
    ...(near.length > shown.length ? [`... and ${near.length - shown.length} more: svc docs <topic>`] : []),
  ]);
}

/** The configuration key that describes `word`: `word` itself; if `word` is an item of a list, the list. */
function describedKey(word: string, pages: readonly Found[]): string | undefined {
  const keys = pages.filter(({ topic }) => topic === "config");
  return [word, word.replace(/\[\d*\]$/, "")].find((key) => keys.some(({ name }) => isKeyOf(name, key)));
}

function refuseUnknown(word: string, pages: readonly Found[]): never {
  const names = pages.map(({ name }) => name);
  const near = nearestName(word, names);
  const next = near === undefined ? "svc docs, which lists the topics" : `svc docs ${near}`;
  invalidRequest(`no topic has an entry named "${word}"\nNext: ${next}`);
}
