/** Which hosts and addresses may be reached on behalf of external content, connections to them, and bounded responses: `@svc/kit/net`. */
export * from "./address.ts";
export * from "./body.ts";
export * from "./dial.ts";
export * from "./host-rules.ts";
export * from "./resolve.ts";
