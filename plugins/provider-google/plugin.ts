/** The model provider `google-generative-ai`. */
import { definePlugin } from "@svc/sdk";

export default definePlugin({ id: "provider-google", api: "^1.0.0", setup: () => undefined });
