/** Answers requests for the control panel. Spec: http/control-panel.md. */
import { presentIdentity } from "@svc/kit/identity";
import { isGatewayError, type Live, notFound, type RouteReply, type RouteRequest } from "@svc/sdk";
import type { AgentIdentities, PresentedAgent } from "@svc/sdk/agents";
import { panelBasePath, type PanelPlace } from "@svc/sdk/gateway";
import type { PageFiles } from "./additions.ts";
import type { UiConfig } from "./config.ts";
import {
  etagOf,
  find,
  findCompressed,
  type Found,
  isKnownTo,
  PerFile,
  read,
  type Root,
  rootOf,
  typeOf,
} from "./files.ts";
import { PANEL_HEADERS, policyFor, PUBLIC_HEADERS, SVG_HEADERS } from "./headers.ts";
import { scriptHashes, withBase } from "./index-page.ts";
import { acceptsPage, BRIDGE, hrefOf, isAsset, targetOf } from "./place.ts";

export interface ServeParts {
  /** Current value of `gateway.controlUi`. */
  readonly place: () => PanelPlace;
  /** Current value of `gateway.aliases`. */
  readonly aliases: () => readonly string[];
  readonly stateDir: () => string;
  /** Current value of the section `ui`. */
  readonly ui: () => UiConfig;
  readonly agents: Live<AgentIdentities>;
  readonly pages: PageFiles;
}

type Request = RouteRequest<unknown>;
type Headers = Readonly<Record<string, string>>;

const TEXT = { "Content-Type": "text/plain; charset=utf-8" };
const INDEX = "index.html";
/** Choice: files whose hash is kept; the page has fewer. */
const MAX_HASHES = 500;
/** Choice: rewritten pages that are kept; there is one, until the base path or the file changes. */
const MAX_INDEXES = 2;

/** @returns the handler of the route. It throws `NOT_FOUND` for requests that are not for the panel */
export function createServe({
  place,
  aliases,
  stateDir,
  ui,
  agents,
  pages,
}: ServeParts): (request: Request) => Promise<RouteReply> {
  const etags = new PerFile<string>(MAX_HASHES);
  const indexes = new PerFile<{ readonly text: string; readonly etag: string; readonly more: Headers }>(MAX_INDEXES);

  async function bootstrap(base: string): Promise<RouteReply> {
    const { name, avatar, agentId } = await present(agents.get(), ui().assistant);
    const body = { basePath: base, assistantName: name, assistantAvatar: avatar, assistantAgentId: agentId };
    return { headers: PANEL_HEADERS, body };
  }

  async function picture({ query, headers }: Request, agentId: string): Promise<RouteReply> {
    const override = ui().assistant;
    if (query.get("meta") === "1") {
      const avatarUrl = await unlessAway(() => agents.get()?.avatarUrl(agentId, override));
      return { headers: PANEL_HEADERS, body: { avatarUrl: avatarUrl ?? null } };
    }
    const image = await unlessAway(() => agents.get()?.image(agentId, override));
    if (!image) return gone();
    const more = image.type === "image/svg+xml" ? SVG_HEADERS : {};
    return content(headers, etagOf(image.bytes), { "Content-Type": image.type, ...more }, image.bytes);
  }

  async function file({ headers }: Request, name: string, base: string, root: Root): Promise<RouteReply> {
    const index = await find(root, INDEX);
    if (index === undefined || index === "refused") return missing(root);
    const found = name === INDEX ? undefined : await find(root, name);
    if (found === "refused") return gone();
    if (found) return plain(headers, name, found, root);
    if (isAsset(name)) return gone();
    if (name !== INDEX && !acceptsPage(single(headers["accept"]))) return notFound("this address serves a page only");
    return page(headers, index, base, root);
  }

  async function plain(headers: Request["headers"], name: string, found: Found, root: Root): Promise<RouteReply> {
    const isBrotli = acceptsBrotli(single(headers["accept-encoding"]));
    const compressed = isBrotli ? await findCompressed(root, name, found) : undefined;
    const chosen = compressed ?? found;
    const fixed = {
      "Content-Type": typeOf(name),
      Vary: "Accept-Encoding",
      ...(compressed ? { "Content-Encoding": "br" } : {}),
      ...(name === BRIDGE ? PUBLIC_HEADERS : {}),
    };
    const key = PerFile.keyOf(chosen);
    const known = etags.get(key);
    if (known !== undefined && isKnownTo(single(headers["if-none-match"]), known)) return unchanged(known, fixed);
    const bytes = await read(chosen);
    if (!bytes) return gone();
    const etag = known ?? etagOf(bytes);
    if (known === undefined) etags.keep(key, etag);
    return content(headers, etag, fixed, bytes);
  }

  async function page(
    headers: Request["headers"],
    index: Found,
    base: string,
    { isBundled }: Root,
  ): Promise<RouteReply> {
    const key = PerFile.keyOf(index, base);
    let kept = indexes.get(key);
    if (!kept) {
      const bytes = await read(index);
      if (!bytes) return gone();
      const text = withBase(bytes.toString("utf8"), hrefOf(base));
      const hashes = isBundled ? [] : scriptHashes(text);
      const more = hashes.length === 0 ? {} : { "Content-Security-Policy": policyFor(hashes) };
      kept = { text, etag: etagOf(text), more };
      indexes.keep(key, kept);
    }
    const { text, etag, more } = kept;
    return content(headers, etag, { "Content-Type": typeOf(INDEX), Vary: "Accept", ...more }, text);
  }

  return async (request) => {
    const at = place();
    if (!at.isServed) return notFound("the control panel is off: gateway.controlUi.enabled");
    const base = panelBasePath(at);
    const target = targetOf(decodeURIComponent(request.path), base, aliases()); // the host refuses paths that cannot be decoded
    switch (target.kind) {
      case "outside":
        return notFound("the control panel is served elsewhere");
      case "gone":
        return gone();
      case "slash":
        return moved(request);
      case "bootstrap":
        return bootstrap(base);
      case "avatar":
        return picture(request, target.agentId);
      case "page":
        return pages.serve(target.id, target.file);
      case "file":
        return file(request, target.name, base, rootOf(at.root, stateDir()));
    }
  };
}

/** The page works without the plugin `agents`, and while it starts. */
async function present(agents: AgentIdentities | undefined, override: UiConfig["assistant"]): Promise<PresentedAgent> {
  const shown = await unlessAway(() => agents?.present(override));
  const none = { agentId: "main", name: undefined, configured: undefined, file: {}, hasImage: () => false };
  return shown ?? presentIdentity({ ...none, override });
}

async function unlessAway<T>(ask: () => Promise<T> | undefined): Promise<T | undefined> {
  try {
    return await ask();
  } catch (error) {
    if (isGatewayError(error) && error.code === "UNAVAILABLE") return undefined;
    throw error;
  }
}

function single(header: string | string[] | undefined): string | undefined {
  return typeof header === "string" ? header : header?.join(",");
}

function acceptsBrotli(header: string | undefined): boolean {
  return (header ?? "").split(",").some((part) => /^\s*br\s*(?:;\s*q=(?!0(?:\.0*)?\s*$).*)?$/i.test(part));
}

function content(headers: Request["headers"], etag: string, fixed: Headers, body: string | Uint8Array): RouteReply {
  if (isKnownTo(single(headers["if-none-match"]), etag)) return unchanged(etag, fixed);
  return { headers: { ...PANEL_HEADERS, ...fixed, ETag: etag }, body };
}

/** Without the headers that describe a body. */
function unchanged(etag: string, fixed: Headers): RouteReply {
  const { "Content-Type": _type, "Content-Encoding": _encoding, ...kept } = fixed;
  return { status: 304, headers: { ...PANEL_HEADERS, ...kept, ETag: etag } };
}

function gone(): RouteReply {
  return { status: 404, headers: { ...PANEL_HEADERS, ...TEXT }, body: "Not Found" };
}

function moved({ path, query }: Request): RouteReply {
  const rest = query.size > 0 ? `?${query.toString()}` : "";
  return { status: 302, headers: { ...PANEL_HEADERS, Location: `${path}/${rest}` } };
}

/** Choice: names no path, because everyone can read it. */
function missing({ isBundled }: Root): RouteReply {
  const body = isBundled
    ? "The control panel has no files in this installation. Install svc again; in a checkout, run: npm run build"
    : "gateway.controlUi.root is not a directory with an index.html. Correct the key, or remove it to use the files that come with svc.";
  return { status: 503, headers: { ...PANEL_HEADERS, ...TEXT }, body };
}
