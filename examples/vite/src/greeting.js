export const greeting = 'Hello through hushgate';
