/** The model provider `bedrock-converse-stream`. */
import { definePlugin } from "@svc/sdk";

export default definePlugin({ id: "provider-bedrock", api: "^1.0.0", setup: () => undefined });
