/** Answers requests below `/__svc__/`: who may read, and what is sent. Spec: http/auth.md §11. */
import { GatewayError, notFound, type RouteReply, type RouteRequest, unavailable } from "@svc/sdk";
import type { Capabilities, Capability } from "./capabilities.ts";
import { readPage } from "./files.ts";
import type { LiveReload } from "./live-reload.ts";
import { a2uiPage, withLiveReload } from "./pages.ts";
import { type Place, placeOf, PREFIX, scopedPath } from "./place.ts";

export interface ServeParts {
  readonly capabilities: Capabilities;
  readonly reload: LiveReload;
  /** Directory of the pages, created if it is the default one. */
  readonly root: () => Promise<string>;
  /** Why nothing is served; `undefined`: pages are served. */
  readonly off: () => string | undefined;
  readonly hasLiveReload: () => boolean;
  readonly aliases: () => readonly string[];
  /** Aborts when the plugin stops. */
  readonly stopped: AbortSignal;
}

/**
 * Agents write these pages, so they are separated from everything else at this address: a sandboxed page has an origin of
 * its own. It loads nothing from other servers.
 */
const CONTENT_SECURITY = [
  "sandbox allow-scripts allow-forms allow-modals",
  "default-src 'self' data: blob:",
  "script-src 'self' 'unsafe-inline' 'unsafe-eval' data: blob:",
  "style-src 'self' 'unsafe-inline'",
  "object-src 'none'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'self'",
].join("; ");

const HEADERS = {
  "Cache-Control": "no-store",
  "Content-Security-Policy": CONTENT_SECURITY,
  "Referrer-Policy": "no-referrer",
  "X-Content-Type-Options": "nosniff",
};

/** Files of a page are requests of a foreign origin, since the page is sandboxed. The capability in the address allows them. */
const WITH_CAPABILITY = { "Access-Control-Allow-Origin": "*", "Cross-Origin-Resource-Policy": "cross-origin" };
const WITHOUT = { "Cross-Origin-Resource-Policy": "same-origin" };

type Request = RouteRequest<unknown>;

export async function serve(request: Request, parts: ServeParts): Promise<RouteReply> {
  const why = parts.off();
  if (why !== undefined) return notFound(why);
  const { params, query } = request;
  const place = placeOf(`${PREFIX}/${params["rest"] ?? ""}`, query, parts.aliases());
  if (!place) return notFound("nothing is served here");
  const admitted = admit(request, place, parts.capabilities);
  if (admitted.movedTo !== undefined) return found(admitted.movedTo);
  const { capability } = admitted;
  const reply = await replyTo(request, place, capability, parts);
  return { ...reply, headers: { ...HEADERS, ...(capability ? WITH_CAPABILITY : WITHOUT), ...reply.headers } };
}

/** Owner of capabilities for pages that this machine opens. */
let opened = 0;

/**
 * A capability, the gateway's credential, or a program on this machine. A browser without a credential of its own (this
 * machine, mode `none`, a proxy that authenticates people) is sent to an address with a capability, because any page
 * that it displays could send the request.
 * @throws GatewayError `UNAUTHORIZED`, `FORBIDDEN`
 */
function admit(
  { local, principal, headers, path }: Request,
  { token }: Place,
  capabilities: Capabilities,
): { readonly capability?: Capability | undefined; readonly movedTo?: string } {
  const capability = token === undefined ? undefined : capabilities.find(token);
  if (capability || (principal && headers["authorization"] !== undefined)) return { capability };
  if (token !== undefined) {
    throw new GatewayError("UNAUTHORIZED", "the capability in this address has expired; request a new one");
  }
  if (!local && !principal) throw new GatewayError("UNAUTHORIZED", "Unauthorized");
  if (headers["sec-fetch-site"] === undefined) return {};
  if (headers["sec-fetch-mode"] !== "navigate") {
    throw new GatewayError("FORBIDDEN", `open the page itself at ${PREFIX}/canvas/`);
  }
  return { movedTo: scopedPath(capabilities.issue(`page:${++opened}`).token, path) };
}

async function replyTo(
  { signal, path }: Request,
  { kind, name, inPath }: Place,
  capability: Capability | undefined,
  { reload, root, hasLiveReload, aliases, stopped }: ServeParts,
): Promise<RouteReply> {
  if (kind === "base") return found(scopedPath(inPath ?? "", `${PREFIX}/canvas/`));
  if (kind === "reload") {
    if (!hasLiveReload()) return notFound("live reload is off: canvasHost.liveReload");
    await root();
    const body = reload.listen(signal, stopped, ...(capability ? [capability.ended] : []));
    return { headers: { "Content-Type": "text/event-stream" }, body };
  }
  if (kind === "a2ui") {
    if (name === "") return slash(path);
    if (name !== "/" && name !== "/index.html") return notFound("nothing is served here");
    return { headers: { "Content-Type": "text/html; charset=utf-8" }, body: a2uiPage(aliases()) };
  }
  const file = await readPage(await root(), name);
  if (file === "directory") return slash(path);
  const isHtml = file.type.startsWith("text/html");
  const stream = inPath === undefined ? `${PREFIX}/ws` : scopedPath(inPath, `${PREFIX}/ws`);
  const body = isHtml && hasLiveReload() ? withLiveReload(file.bytes.toString(), stream) : file.bytes;
  return { headers: { "Content-Type": file.type }, body };
}

const found = (location: string): RouteReply => ({ status: 302, headers: { Location: location, ...HEADERS } });
/** Relative links of a page need the slash. */
const slash = (path: string) => found(`${path}/`);

/** @throws GatewayError `UNAVAILABLE`: no pages are served */
export function requireOn(off: string | undefined): void {
  if (off !== undefined) unavailable(`this gateway serves no canvas: ${off}`);
}
