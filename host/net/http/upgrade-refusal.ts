/** Paths at which no WebSocket opens: routes with `refusesUpgrade`. Every other path opens a connection of the gateway. */
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
