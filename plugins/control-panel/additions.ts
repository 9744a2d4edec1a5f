/** Pages and cards that other plugins add to the control panel. */
import { oneLine } from "@svc/kit/identity";
import { withDeadline } from "@svc/kit/time";
import {
  type Clock,
  type Contribution,
  type ExtensionView,
  GatewayError,
  isGatewayError,
  type Logger,
  matches,
  messageOf,
  type RouteReply,
  type TSchema,
  Type,
  untilAborted,
} from "@svc/sdk";
import { panelBasePath, type PanelPlace } from "@svc/sdk/gateway";
import {
  CardContent,
  type PageFile,
  type PanelCard,
  type PanelCardEntry,
  type PanelPage,
  type PanelPageEntry,
} from "@svc/sdk/panel";
import type { PluginControl } from "@svc/sdk/plugins";
import { PAGE_HEADERS } from "./headers.ts";
import { hrefOf, PAGE_ID } from "./place.ts";

/** Choice: milliseconds for a file of a page. */
const FILE_MS = 10_000;
/** Choice: largest file of a page in bytes. */
const MAX_FILE_BYTES = 8 * 1_024 * 1_024;
/** Milliseconds for the content of a card. */
const CARD_MS = 5_000;
/** Choice: largest content of a card in characters of its JSON. */
const MAX_CARD_CHARS = 64 * 1_024;
/** Choice: pages, and cards, that are listed. */
const MAX_LISTED = 100;
/** Choice: characters of an error that a card shows. */
const MAX_ERROR_CHARS = 300;

export interface AdditionParts {
  readonly pages: ExtensionView<PanelPage>;
  readonly cards: ExtensionView<PanelCard>;
  readonly control: Pick<PluginControl, "inspect">;
  readonly place: () => PanelPlace;
  readonly clock: Clock;
  readonly log: Pick<Logger, "warn" | "error">;
  /** Aborts when the plugin stops. */
  readonly stopped: AbortSignal;
}

export interface PageFiles {
  /** @param file path below the page */
  serve(id: string, file: string): Promise<RouteReply>;
}

/** What a contribution must contain, apart from its function. */
const Title = Type.String({ minLength: 1, maxLength: 80 });
const Names = Type.Optional(Type.Array(Type.String({ maxLength: 100 }), { maxItems: 200 }));
const Page = Type.Object({
  title: Title,
  icon: Type.Optional(Type.String({ maxLength: 16 })),
  methods: Names,
  events: Names,
});
const Card = Type.Object({ title: Title });

const File = Type.Object({
  type: Type.String({ maxLength: 100, pattern: "^[\\w.+-]+/[\\w.+-]+(; ?[\\w-]+=[\\w.-]+)*$" }),
});

export class Additions implements PageFiles {
  readonly #parts: AdditionParts;
  /** Contributions that are not listed, with a line in the log for each. */
  readonly #invalid = new WeakSet<object>();

  constructor(parts: AdditionParts) {
    this.#parts = parts;
  }

  listPages(): PanelPageEntry[] {
    const { pages, place } = this.#parts;
    const base = hrefOf(panelBasePath(place()));
    return this.#valid(pages, Page, "page").map(({ id, plugin, value }) => {
      const { title, icon, methods = [], events = [] } = value;
      const has = this.#declaredBy(plugin);
      return {
        id,
        plugin,
        title,
        ...(icon === undefined ? {} : { icon }),
        path: `${base}/__svc/pages/${id}/`,
        methods: methods.filter((name) => has("methods", name)),
        events: events.filter((name) => has("events", name)),
        refused: [...methods.filter((name) => !has("methods", name)), ...events.filter((name) => !has("events", name))],
      };
    });
  }

  async listCards(): Promise<PanelCardEntry[]> {
    const cards = this.#valid(this.#parts.cards, Card, "card");
    return Promise.all(
      cards.map(async (card) => {
        const { id, plugin, value } = card;
        const entry = { id, plugin, title: value.title };
        try {
          return { ...entry, content: await this.#contentOf(card) };
        } catch (error) {
          return { ...entry, error: this.#reasonOf(error, plugin) };
        }
      }),
    );
  }

  async serve(id: string, file: string): Promise<RouteReply> {
    const { pages, clock, stopped, log } = this.#parts;
    const contribution = pages.get(id);
    if (!contribution) return text(404, "Not Found");
    const { plugin } = contribution;
    const late = () => `page "${id}" of plugin ${plugin} did not return ${file} within ${FILE_MS / 1_000} s`;
    try {
      const found = await pages.call(contribution, (page) =>
        // Anyone can request a file. An error that counts would let them send the plugin into quarantine.
        refusing(
          withDeadline({ ms: FILE_MS, clock, signals: [stopped], late }, async (signal) =>
            untilAborted(page.file(file), signal),
          ),
        ),
      );
      return found === undefined ? text(404, "Not Found") : sent(found);
    } catch (error) {
      log.error({ err: error, plugin, id, path: file }, `plugin ${plugin} could not return a file of its page`);
      return isGatewayError(error) && error.code === "UNAVAILABLE"
        ? text(503, "The plugin of this page did not answer in time.")
        : text(500, "The plugin of this page failed; the log of the gateway has the cause.");
    }
  }

  async #contentOf(card: Contribution<PanelCard>): Promise<CardContent> {
    const { cards, clock, stopped } = this.#parts;
    const late = () => `plugin ${card.plugin} did not answer within ${CARD_MS / 1_000} s`;
    return cards.call(card, async (value) => {
      const content: unknown = await withDeadline({ ms: CARD_MS, clock, signals: [stopped], late }, async (signal) =>
        untilAborted(value.read(), signal),
      );
      return this.#shown(content, card);
    });
  }

  /** @throws Error, attributed to the contributor */
  #shown(content: unknown, { plugin }: Contribution<PanelCard>): CardContent {
    const size = JSON.stringify(content)?.length ?? 0;
    if (size > MAX_CARD_CHARS) throw new InvalidCard(`the card has ${size} characters; the limit is ${MAX_CARD_CHARS}`);
    if (!matches(CardContent, content)) throw new InvalidCard("the card does not have the form of CardContent");
    const { rows, text: below, page } = content;
    const isOwn = page !== undefined && this.#parts.pages.get(page)?.plugin === plugin;
    return {
      rows: rows.map(({ label, value, tone }) => ({ label, value, ...(tone === undefined ? {} : { tone }) })),
      ...(below === undefined ? {} : { text: below }),
      ...(isOwn ? { page } : {}),
    };
  }

  /** An unexpected error may contain secrets, so only the log has it. */
  #reasonOf(error: unknown, plugin: string): string {
    if (isGatewayError(error) || error instanceof InvalidCard) return oneLine(error.message).slice(0, MAX_ERROR_CHARS);
    this.#parts.log.warn({ err: error, plugin }, `a card of plugin ${plugin} failed`);
    return `plugin ${plugin} failed; the log of the gateway has the cause`;
  }

  /** Contributions that can be shown, in plugin order. */
  #valid<T>(view: ExtensionView<T>, schema: TSchema, what: string): readonly Contribution<T>[] {
    const listed = view.list().filter(({ id, plugin, value }) => {
      if (PAGE_ID.test(id) && matches(schema, value)) return true;
      if (typeof value !== "object" || value === null || this.#invalid.has(value)) return false;
      this.#invalid.add(value);
      const rule = "its id needs lower-case letters, digits and dashes, and its title 1 to 80 characters";
      this.#parts.log.warn({ plugin, id }, `a ${what} of plugin ${plugin} is not shown: ${rule}`);
      return false;
    });
    return listed.slice(0, MAX_LISTED);
  }

  /** Known without waking the plugin. */
  #declaredBy(plugin: string): (kind: "methods" | "events", name: string) => boolean {
    try {
      const { declares } = this.#parts.control.inspect(plugin);
      return (kind, wanted) => declares[kind]?.some(({ name }) => name === wanted) ?? false;
    } catch (error) {
      if (isGatewayError(error)) return () => false; // removed meanwhile
      throw error;
    }
  }
}

/** Its message has no secrets: this plugin wrote it. */
class InvalidCard extends Error {}

async function refusing<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (isGatewayError(error)) throw error;
    throw new GatewayError("INTERNAL", messageOf(error), { cause: error });
  }
}

/** @throws Error if it cannot be sent */
function sent(file: PageFile): RouteReply {
  const { bytes } = file;
  if (!matches(File, file) || (typeof bytes !== "string" && !(bytes instanceof Uint8Array))) {
    throw new TypeError("a file of a page needs a media type, and bytes or a text");
  }
  const size = typeof bytes === "string" ? Buffer.byteLength(bytes) : bytes.byteLength;
  if (size > MAX_FILE_BYTES) throw new RangeError(`the file has ${size} bytes; the limit is ${MAX_FILE_BYTES}`);
  return { headers: { ...PAGE_HEADERS, "Content-Type": file.type }, body: bytes };
}

function text(status: number, body: string): RouteReply {
  return { status, headers: { ...PAGE_HEADERS, "Content-Type": "text/plain; charset=utf-8" }, body };
}
