/** What a path names in the control panel. Pure. Spec: http/control-panel.md §3. */
import { posix, win32 } from "node:path";

/** Path of the program that pages of plugins load, below the base path. */
export const BRIDGE = "__svc/bridge.js";
/** Choice: also under the names that existing clients use instead of `svc`. Newer ones use none. Spec: protocol 4 §4.3. */
const BOOTSTRAP = /^(?:__([a-z0-9-]+)\/)?control-ui-config\.json$/;
const PAGES = "__svc/pages/";
const AVATAR = "avatar/";

/** Ids of pages that are served. */
export const PAGE_ID = /^[a-z0-9][a-z0-9-]{0,63}$/;
const AGENT_ID = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/;

/** `outside`: not a path of the panel. `gone`: the panel's own 404. `slash`: the same path with a slash at its end. */
export type Target =
  | { readonly kind: "outside" | "gone" | "slash" | "bootstrap" }
  | { readonly kind: "avatar"; readonly agentId: string }
  | { readonly kind: "page"; readonly id: string; readonly file: string }
  | { readonly kind: "file"; readonly name: string };

const OUTSIDE: Target = { kind: "outside" };
const GONE: Target = { kind: "gone" };

/** @param path decoded @param base normalized base path @param aliases `gateway.aliases` */
export function targetOf(path: string, base: string, aliases: readonly string[] = []): Target {
  if (base === "") {
    if (isAtOrBelow(path, "/ui")) return GONE;
    if (isAtOrBelow(path, "/api") || isAtOrBelow(path, "/plugins")) return OUTSIDE;
  } else {
    if (path === base) return { kind: "slash" };
    if (!path.startsWith(`${base}/`)) return OUTSIDE;
  }
  const rest = path.slice(base.length + 1);
  const [isConfig, name = "svc"] = BOOTSTRAP.exec(rest) ?? [];
  if (isConfig !== undefined && ["svc", ...aliases].includes(name)) return { kind: "bootstrap" };
  if (rest.startsWith(AVATAR)) {
    const agentId = rest.slice(AVATAR.length);
    return AGENT_ID.test(agentId) ? { kind: "avatar", agentId } : GONE;
  }
  if (rest.startsWith(PAGES)) return pageOf(rest.slice(PAGES.length));
  return fileOf(rest);
}

function isAtOrBelow(path: string, place: string): boolean {
  return path === place || path.startsWith(`${place}/`);
}

function pageOf(rest: string): Target {
  const [id = "", ...steps] = rest.split("/");
  if (!PAGE_ID.test(id)) return GONE;
  if (steps.length === 0) return { kind: "slash" };
  const file = steps.join("/");
  if (file === "") return { kind: "page", id, file: "index.html" };
  return isPlain(file) ? { kind: "page", id, file } : GONE;
}

/** A path with `/assets/` is resolved from there, so that addresses of the client can load the files of the page. */
function fileOf(rest: string): Target {
  const from = `/${rest}`.indexOf("/assets/");
  const path = from < 0 ? rest : rest.slice(from);
  const name = path === "" || path.endsWith("/") ? `${path}index.html` : path;
  return isPlain(name) ? { kind: "file", name } : GONE;
}

/** A relative path that only leads down. Choice: hidden names are never served. */
function isPlain(name: string): boolean {
  if (posix.isAbsolute(name) || win32.isAbsolute(name) || /[\0\\]/.test(name)) return false;
  return name.split("/").every((step) => step !== "" && !step.startsWith("."));
}

/** Unknown paths with these extensions are 404; all others are addresses of the client. Spec: §3. */
const ASSET = /\.(?:js|css|json|map|svg|png|jpe?g|gif|webp|ico|txt)$/i;

export function isAsset(name: string): boolean {
  return ASSET.test(name);
}

/**
 * Whether a client that receives a page instead of an error can use it.
 * @param accept header `Accept`; absent: everything
 */
export function acceptsPage(accept: string | undefined): boolean {
  if (accept === undefined || accept.trim() === "") return true;
  return accept.split(",").some((part) => {
    const [type = "", ...parameters] = part.split(";").map((word) => word.trim().toLowerCase());
    const isRefused = parameters.some((word) => /^q=0(?:\.0*)?$/.test(word));
    return !isRefused && ["text/html", "text/*", "*/*"].includes(type);
  });
}

/** A path as it is written in an address. */
export function hrefOf(path: string): string {
  return path.split("/").map(encodeURIComponent).join("/");
}
