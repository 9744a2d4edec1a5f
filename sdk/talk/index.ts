/** Talk mode and wake words of voice clients: `@svc/sdk/talk`. */
export * from "./contract.ts";
