/** Talk mode and wake words of voice clients. */
import { definePlugin } from "@svc/sdk";

export default definePlugin({ id: "talk", api: "^1.0.0", setup: () => undefined });
