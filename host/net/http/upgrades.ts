/** What serves a WebSocket upgrade: a route of a plugin, or, at every other path, a connection of the gateway. */
import type { LiveRoute } from "../../kernel/kinds/routes.ts";
import { canonicalPath } from "./path.ts";

/** @param target of the upgrade request. @returns why the upgrade is refused; `undefined`: it is not */
export function upgradeRefusal(target: string, routes: readonly LiveRoute[]): string | undefined {
  const refusing = routes.filter(({ route }) => route.refusesUpgrade);
  if (refusing.length === 0) return undefined;
  const path = canonicalPath(target);
  const found = path !== undefined && refusing.find(({ route }) => isAt(route.path, path));
  return found ? `No WebSocket is served here: ${found.route.summary}.` : undefined;
}

/** Whether a path is that of a route, whose last part may be `*rest`. */
function isAt(pattern: string, path: string): boolean {
  const star = pattern.indexOf("*");
  return star < 0 ? path === pattern : path.startsWith(pattern.slice(0, star));
}

/** A route that opens WebSockets, for one upgrade request. */
export interface SocketRoute {
  readonly entry: LiveRoute;
  readonly path: string;
  readonly params: Readonly<Record<string, string>>;
}

/** @returns the route with `upgrade` at the path of the request */
export function socketRoute(target: string, routes: readonly LiveRoute[]): SocketRoute | undefined {
  const opening = routes.filter(({ route }) => route.upgrade);
  const path = opening.length === 0 ? undefined : canonicalPath(target);
  if (path === undefined) return undefined;
  for (const entry of opening) {
    const params = paramsOf(entry.route.path, path);
    if (params) return { entry, path, params };
  }
  return undefined;
}

/** Values of the `:name` segments; `undefined`: the path does not match. */
function paramsOf(pattern: string, path: string): Record<string, string> | undefined {
  const [wanted, given] = [pattern.split("/"), path.split("/")];
  if (wanted.length !== given.length) return undefined;
  const params: Record<string, string> = {};
  for (const [index, segment] of wanted.entries()) {
    const value = given[index] ?? "";
    if (!segment.startsWith(":")) {
      if (segment !== value) return undefined;
    } else if (value === "") return undefined;
    else params[segment.slice(1)] = value;
  }
  return params;
}
