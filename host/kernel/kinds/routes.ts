/** HTTP routes of a plugin. */
import { type RouteRequest, type RouteSpec, Type } from "@svc/sdk";
import { defineKind, type Owned } from "../kind.ts";

export interface DeclaredRoute {
  readonly route: RouteSpec;
}
export type LiveRoute = DeclaredRoute & Owned;

/** @returns the path of a route named `<METHOD> <path>` */
const pathOf = (name: string) => name.slice(name.indexOf(" ") + 1);

export const routes = defineKind<DeclaredRoute>({
  name: "routes",
  noun: "route",
  shape: Type.Object({
    name: Type.String({ description: "<METHOD> <path>" }),
    auth: Type.Enum(["gateway", "plugin", "optional"]),
  }),
  isUnique: true,
  describe: ({ route: { method, path, auth } }) => ({ name: `${method} ${path}`, auth }),

  members: (record) => ({ route: (route: RouteSpec) => record({ route }) }),

  listing: {
    key: "routes",
    read: ({ routes: prefixes = [] }) => prefixes,
    value: ({ name }, id) => (pathOf(name).startsWith(`/plugins/${id}/`) ? undefined : pathOf(name)),
    covers: (prefix, name) => pathOf(name).startsWith(prefix),
    instead: (id) => `mount it below /plugins/${id}/`,
    refused: "always",
  },

  conflict(entries) {
    const open = entries.find(({ route: { auth, scope } }) => auth !== "plugin" && scope === undefined)?.route;
    if (open) return `route ${open.method} ${open.path} has auth "${open.auth}" and no scope`;
    const loose = entries.find(
      ({ route: { upgrade, method, auth, path } }) =>
        upgrade && (method !== "GET" || auth !== "plugin" || path.includes("*")),
    )?.route;
    if (loose)
      return `route ${loose.method} ${loose.path} opens WebSockets, so it must have the method GET, auth "plugin" and a path without *`;
    const closed = entries.find(
      ({ route: { path, isFallback } }) => isFallback && !/^[^*:{]*\/\*\w+$/.test(path),
    )?.route;
    return (
      closed &&
      `route ${closed.method} ${closed.path} is a fallback, so its path must end with /*name and have no other parameter`
    );
  },

  refuse: ({ route: { upgrade } }) => upgrade && "its sockets cannot be handed over",

  adopt: ({ route }) => ({ route: { ...route, handler: (request) => route.handler(plain(request)) } }),
});

/** The request object has getters and members that cannot be sent to another thread or process. */
function plain(request: RouteRequest<unknown>): never {
  const { method, path, params, query, headers, body, rawBody, principal, remoteAddress, local, signal } = request;
  const parts = { method, path, params, query, headers, body, rawBody, principal, remoteAddress, local, signal };
  return parts as never; // the body matches the schema of the route
}
