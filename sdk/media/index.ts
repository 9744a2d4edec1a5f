/** Reading files for models: documents, pictures, speech and videos: `@svc/sdk/media`. */
export * from "./contract.ts";
export * from "./service.ts";
