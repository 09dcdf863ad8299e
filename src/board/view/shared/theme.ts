import type { HostContext } from './host.ts';

/** Roles without which a host's palette is not used: half of one with half of another is unreadable. */
const neededRoles = ['--color-text-primary', '--color-background-primary'] as const;

/** Applies the theme and the colours of a host. */
export function applyTheme({ theme, styles }: HostContext): void {
  const { style } = document.documentElement;
  if (theme === 'light' || theme === 'dark') style.colorScheme = theme;
  const variables = styles?.variables ?? {};
  const hasPalette = neededRoles.every((role) => variables[role]);
  for (const [name, value] of Object.entries(variables)) {
    if (!name.startsWith('--') || !value) continue;
    if (hasPalette || !name.startsWith('--color-')) style.setProperty(name, value);
  }
}

/** Formats numbers and times as the person is used to. */
export class Formats {
  readonly #locale: string | undefined;
  readonly #timeZone: string | undefined;

  constructor({ locale, timeZone }: HostContext = {}) {
    this.#locale = isUsable(() => new Intl.NumberFormat(locale)) ? locale : undefined;
    this.#timeZone = isUsable(() => new Intl.DateTimeFormat(undefined, { timeZone })) ? timeZone : undefined;
  }

  isSame(other: Formats): boolean {
    return this.#locale === other.#locale && this.#timeZone === other.#timeZone;
  }

  number(value: number): string {
    return value.toLocaleString(this.#locale, {
      maximumFractionDigits: 3,
      maximumSignificantDigits: 3,
      roundingPriority: 'morePrecision',
    });
  }

  /** Formats a share from 0 to 1. */
  percent(share: number): string {
    return share.toLocaleString(this.#locale, { style: 'percent', maximumFractionDigits: 2 });
  }

  time(text: string, timeStyle: 'short' | 'medium' = 'short'): string {
    const time = new Date(text);
    if (Number.isNaN(time.getTime())) return text;
    return time.toLocaleString(this.#locale, { dateStyle: 'medium', timeStyle, timeZone: this.#timeZone });
  }
}

function isUsable(format: () => unknown): boolean {
  try {
    format();
    return true;
  } catch {
    return false;
  }
}
