/** Which hosts and addresses may be reached on behalf of external content, and connections to them: `@svc/kit/net`. */
export * from "./address.ts";
export * from "./dial.ts";
export * from "./host-rules.ts";
export * from "./resolve.ts";
