/** Speech: speaks answers and other texts with an engine of this machine or of a service. */
import { definePlugin } from "@svc/sdk";

export default definePlugin({ id: "tts", api: "^1.0.0", setup: () => undefined });
